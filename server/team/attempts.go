package team

import (
	"context"
	"errors"

	"rail/server/auth/attempt"
)

// perAccount, perAddress and perProvider limit failed sign-ins within attempt.Window: of an account, of an
// address, and of all addresses of one customer of an internet provider. Beyond the limit, even the right
// password must wait.
const (
	perAccount  = 10
	perAddress  = 50
	perProvider = 200
)

// limited runs try, which counts as a failure of the account and the address if it returns ErrWrong or gets no
// turn, so that a flood counts too. Too many failures are refused. If browser names a user, who signed in from
// that browser before, failures count for that user alone, so that others cannot lock the user out.
func (s *Service) limited(ctx context.Context, account, browser, from string, try func() error) error {
	noted, err := s.attempt(ctx, account, browser, from)
	if err != nil {
		return err
	}
	if err = try(); errors.Is(err, ErrWrong) || errors.Is(err, errBusy) {
		return err
	}
	return errors.Join(err, s.attemptBook().Remove(ctx, noted))
}

// attempt counts an attempt for an account, by the user of a known browser or from an address, and refuses one
// beyond the limit.
func (s *Service) attempt(ctx context.Context, account, browser, from string) (attempt.Attempts, error) {
	if browser != "" {
		return s.attemptBook().Note(ctx, attempt.Subject{Key: "browser:" + browser + " " + account, Most: perAccount})
	}
	subjects := []attempt.Subject{{Key: "account:" + account, Most: perAccount}}
	if from != "" {
		narrow := attempt.Network(from)
		subjects = append(subjects, attempt.Subject{Key: "address:" + narrow, Most: perAddress})
		if provider := networkKey(from); provider != narrow {
			subjects = append(subjects, attempt.Subject{Key: "address:" + provider, Most: perProvider})
		}
	}
	return s.attemptBook().Note(ctx, subjects...)
}

func (s *Service) attemptBook() attempt.Book {
	return attempt.Book{Pool: s.Pool, Keeper: s.Keeper, Clock: s.Clock}
}
