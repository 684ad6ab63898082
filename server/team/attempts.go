package team

import (
	"context"
	"errors"

	"rail/server/team/attempt"
)

// perAccount, perAddress and perProvider bound the failures to sign in within attempt.Window:
// of an account, of an address, and of the addresses that one customer of a provider has.
// Whoever has more waits for the rest of it, also with the right password.
const (
	perAccount  = 10
	perAddress  = 50
	perProvider = 200
)

// limited runs try, which counts as a failure of the account and the address if it ends
// with ErrWrong, and if it did not get its turn: a flood is not to stay uncounted. Too many
// failures refuse it. A browser in which the account's person has signed in before counts
// for itself alone: what others try from elsewhere does not keep them out.
func (s *Service) limited(ctx context.Context, account, browser, from string, try func() error) error {
	noted, err := s.attempt(ctx, account, browser, from)
	if err != nil {
		return err
	}
	if err = try(); errors.Is(err, ErrWrong) || errors.Is(err, errBusy) {
		return err
	}
	return errors.Join(err, s.book().Forget(ctx, noted))
}

// attempt notes an attempt of an account, by a browser or from an address, and refuses one too
// many.
func (s *Service) attempt(ctx context.Context, account, browser, from string) (attempt.Noted, error) {
	if browser != "" {
		return s.book().Note(ctx, attempt.Subject{Key: "browser:" + browser, Most: perAccount})
	}
	subjects := []attempt.Subject{{Key: "account:" + account, Most: perAccount}}
	if from != "" {
		narrow := attempt.Network(from)
		subjects = append(subjects, attempt.Subject{Key: "address:" + narrow, Most: perAddress})
		if provider := wide(from); provider != narrow {
			subjects = append(subjects, attempt.Subject{Key: "address:" + provider, Most: perProvider})
		}
	}
	return s.book().Note(ctx, subjects...)
}

func (s *Service) book() attempt.Book {
	return attempt.Book{Pool: s.Pool, Keeper: s.Keeper, Clock: s.Clock}
}
