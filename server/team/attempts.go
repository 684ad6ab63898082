package team

import (
	"bytes"
	"context"
	"errors"
	"math"
	"net/netip"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/problem"
)

const (
	// Window is how long a failure to sign in counts.
	Window = 15 * time.Minute
	// perAccount and perAddress bound the failures within it. Whoever has more waits for
	// the rest of the window, also with the right password.
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
	return errors.Join(err, s.forget(ctx, noted))
}

// attempt notes an attempt before it is known how it ends, so that many at once are
// counted too, and refuses one too many.
func (s *Service) attempt(ctx context.Context, account, from string) ([]int64, error) {
	now := s.Clock.Now()
	subjects := [][]byte{s.Keeper.HashSignIn("account:" + account)}
	if from != "" {
		subjects = append(subjects, s.Keeper.HashSignIn("address:"+network(from)))
	}
	noted, err := queries.SignInAttempt(ctx, s.Pool, db.SignInAttemptParams{Subjects: subjects, Now: now})
	if err != nil {
		return nil, err
	}
	rows, err := queries.SignInAttempts(ctx, s.Pool, db.SignInAttemptsParams{Subjects: subjects, Since: now.Plus(-Window)})
	if err != nil {
		return nil, err
	}
	var until clock.Time
	for _, r := range rows {
		most := int64(perAddress)
		if bytes.Equal(r.Subject, subjects[0]) {
			most = perAccount
		}
		if end := r.Since.Plus(Window); r.N > most && end.After(until.Time) {
			until = end
		}
	}
	if until.IsZero() {
		return noted, nil
	}
	return nil, errors.Join(s.forget(ctx, noted), tooMany(now, until))
}

// forget takes attempts back that did not fail, also when who made them has gone.
func (s *Service) forget(ctx context.Context, noted []int64) error {
	return queries.SignInForget(context.WithoutCancel(ctx), s.Pool, noted)
}

// tooMany refuses an attempt until a time.
func tooMany(now, until clock.Time) error {
	wait := until.Sub(now.Time)
	p := problem.New(problem.RateLimitExceeded, "Too many attempts. Try again in %d minutes.", int(math.Ceil(wait.Minutes())))
	p.RetryAfter = int(math.Ceil(wait.Seconds()))
	return p
}

// network is what of an address one person can hardly change: all of an IPv4 address,
// and the first half of an IPv6 one.
func network(from string) string {
	a, err := netip.ParseAddr(from)
	if err != nil {
		return from
	}
	if a = a.Unmap().WithZone(""); a.Is4() {
		return a.String()
	}
	return masked(a, 64)
}

// masked is the network of an address.
func masked(a netip.Addr, bits int) string {
	p, err := a.Prefix(bits)
	if err != nil {
		return ""
	}
	return p.String()
}
