package team

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/clock"
)

const (
	// maxTried bounds the organizations in which an address is looked for.
	maxTried = 4
	// challengeLife is how long a code may take to be entered.
	challengeLife = 5 * time.Minute
)

// Challenge is how far somebody has come in signing in. A session begins with one that
// is ready. Any other has a token, with which Factor takes a code.
type Challenge struct {
	User  User
	Token string

	ready, factor bool
}

// Ready reports whether a session may begin.
func (c Challenge) Ready() bool { return c.ready }

// SignIn takes a password. An address may be a user of several organizations: the first
// whose password it is signs in.
func (s *Service) SignIn(ctx context.Context, email, password string, from From) (Challenge, error) {
	var found db.User
	account, browser := strings.ToLower(strings.TrimSpace(email)), s.browser(from, email)
	err := s.limited(ctx, account, browser, from.Address, func() error {
		users, err := s.usersOf(ctx, email)
		if err != nil {
			return err
		}
		key := account
		if browser == "" {
			key = wide(from.Address)
		}
		found, err = s.match(ctx, users, password, key, browser != "")
		return err
	})
	if err != nil {
		return Challenge{}, err
	}
	return s.challenge(found)
}

// usersOf returns who may sign in with an address: nobody with what is none.
func (s *Service) usersOf(ctx context.Context, email string) ([]db.User, error) {
	email, err := address(email)
	if err != nil {
		return nil, nil //nolint:nilerr // the answer for an unknown address
	}
	return queries.UsersOfEmail(ctx, s.Pool, db.UsersOfEmailParams{Email: email, Lim: maxTried})
}

// pending is what the token of a challenge says. State is the time of the user's last
// change, which voids it.
type pending struct {
	OrgID, ID    string
	Until, State int64 // microseconds
}

// challengePlace is what the token of a challenge is sealed for.
const challengePlace = "team/challenge"

// challenge returns a challenge that is ready, or asks for the second factor where it is
// on.
func (s *Service) challenge(u db.User) (Challenge, error) {
	c := Challenge{User: userOf(u), ready: u.TOTPSecret == nil}
	if c.ready {
		return c, nil
	}
	var err error
	c.Token, err = s.seal(pending{
		OrgID: u.OrgID, ID: u.ID, Until: s.Clock.Now().Plus(challengeLife).UnixMicro(), State: u.UpdatedAt.UnixMicro(),
	}, challengePlace)
	return c, err
}

// seal returns a token that says what only this server can read.
func (s *Service) seal(what any, place string) (string, error) {
	text, err := json.Marshal(what)
	if err != nil {
		return "", err
	}
	sealed, err := s.Keeper.Seal(text, place)
	return base64.RawURLEncoding.EncodeToString(sealed), err
}

// unseal reads a token of seal into what, or returns ErrSignedOut.
func (s *Service) unseal(token, place string, what any) error {
	sealed, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return ErrSignedOut
	}
	text, err := s.Keeper.Open(sealed, place)
	if err != nil {
		return ErrSignedOut
	}
	return json.Unmarshal(text, what)
}

// challenged returns whom a token asks for a code.
func (s *Service) challenged(ctx context.Context, token string) (db.User, error) {
	var p pending
	if err := s.unseal(token, challengePlace, &p); err != nil {
		return db.User{}, err
	}
	u, err := queries.UserGet(ctx, s.Pool, db.UserGetParams{OrgID: p.OrgID, ID: p.ID})
	gone := errors.Is(err, pgx.ErrNoRows)
	if err != nil && !gone {
		return u, err
	}
	if gone || u.DisabledAt != nil || u.UpdatedAt.UnixMicro() != p.State || s.Clock.Now().UnixMicro() >= p.Until {
		return u, ErrSignedOut
	}
	return u, nil
}

// Factor takes a code of the authenticator, or a recovery code, which is used up.
func (s *Service) Factor(ctx context.Context, challenge, code string, from From) (Challenge, error) {
	u, err := s.challenged(ctx, challenge)
	if err != nil {
		return Challenge{}, err
	}
	err = s.limited(ctx, u.ID, s.browser(from, u.Email), from.Address, func() error { return s.takeCode(ctx, u, code) })
	if err != nil {
		return Challenge{}, err
	}
	return Challenge{User: userOf(u), ready: true, factor: true}, nil
}

// idleSince is the time since which a session must have been used.
func idleSince(now clock.Time) clock.Time { return now.Plus(-Idle) }
