package team

import (
	"context"
	"errors"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/problem"
	"rail/server/work"
)

// freshFor is how long a sign-in counts as a proof for users without a second factor and a password.
const freshFor = 15 * time.Minute

// Proof is a user's second proof of identity before money is sent.
type Proof string

// A code of the second factor, or else the password, or else a sign-in a short time ago.
const (
	ByCode     Proof = "code"
	ByPassword Proof = "password"
	BySignIn   Proof = "sign_in"
)

// Proof returns how the user is asked again.
func (u User) Proof() Proof {
	switch {
	case u.Factor:
		return ByCode
	case u.Password:
		return ByPassword
	}
	return BySignIn
}

// Reconfirm checks the caller's proof; began is when the session began. Its attempts are limited like those of signing
// in, and a code is used up.
func (s *Service) Reconfirm(ctx context.Context, u *work.Unit, typed string, began clock.Time) error {
	me, err := currentUser(ctx, u)
	if err != nil {
		return err
	}
	switch proof := userOf(me).Proof(); {
	case proof == BySignIn && u.Now.Sub(began.Time) > freshFor:
		return problem.Invalid("proof", "You signed in more than 15 minutes ago. Sign out, sign in, and try again.")
	case proof == BySignIn:
		return nil
	case proof == ByCode:
		err = s.limited(ctx, me.ID, me.ID, "", func() error { return s.takeCode(ctx, me, typed) })
	default:
		err = s.limited(ctx, me.Email, me.ID, "", func() error {
			_, err := s.findByPassword(ctx, []db.User{me}, typed, me.Email, true)
			return err
		})
	}
	if errors.Is(err, ErrWrong) {
		return problem.Invalid("proof", "That is wrong. Nothing was done.")
	}
	return err
}
