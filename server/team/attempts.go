package team

import (
	"context"
	"errors"

	"rail/server/attempt"
)

// perAccount and perAddress bound the failures to sign in within attempt.Window. Whoever has
// more waits for the rest of it, also with the right password.
const (
	perAccount = 10
	perAddress = 50
)

// limited runs try, which counts as a failure of the account and the address if it ends
// with ErrWrong. Too many failures refuse it.
func (s *Service) limited(ctx context.Context, account, from string, try func() error) error {
	noted, err := s.attempt(ctx, account, from)
	if err != nil {
		return err
	}
	if err = try(); errors.Is(err, ErrWrong) {
		return err
	}
	return errors.Join(err, s.book().Forget(ctx, noted))
}

// attempt notes an attempt of an account from an address, and refuses one too many.
func (s *Service) attempt(ctx context.Context, account, from string) (attempt.Noted, error) {
	subjects := []attempt.Subject{{Key: "account:" + account, Most: perAccount}}
	if from != "" {
		subjects = append(subjects, attempt.Subject{Key: "address:" + attempt.Network(from), Most: perAddress})
	}
	return s.book().Note(ctx, subjects...)
}

func (s *Service) book() attempt.Book {
	return attempt.Book{Pool: s.Pool, Keeper: s.Keeper, Clock: s.Clock}
}
