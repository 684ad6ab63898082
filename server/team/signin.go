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
	// maxTried bounds the organizations searched for an address.
	maxTried = 4
	// challengeLife is the time limit for entering a code.
	challengeLife = 5 * time.Minute
)

// Challenge is an incomplete or complete sign-in. A ready one begins a session. Any other has a token, with
// which Factor takes a code.
type Challenge struct {
	User  User
	Token string

	ready, factor bool
}

// Ready reports whether a session may begin.
func (c Challenge) Ready() bool { return c.ready }

// SignIn checks a password. An address may be a user of several organizations: the first one with that password
// signs in.
func (s *Service) SignIn(ctx context.Context, email, password string, from From) (Challenge, error) {
	var found db.User
	account, browser := strings.ToLower(strings.TrimSpace(email)), s.rememberedUser(from, email)
	err := s.limited(ctx, account, browser, from.Address, func() error {
		users, err := s.usersOf(ctx, email)
		if err != nil {
			return err
		}
		key := account
		if browser == "" {
			key = networkKey(from.Address)
		}
		found, err = s.findByPassword(ctx, users, password, key, browser != "")
		return err
	})
	if err != nil {
		return Challenge{}, err
	}
	return s.challenge(found)
}

// usersOf returns the users with an address, none if it is malformed.
func (s *Service) usersOf(ctx context.Context, email string) ([]db.User, error) {
	email, err := address(email)
	if err != nil {
		return nil, nil //nolint:nilerr // the answer for an unknown address
	}
	return queries.UsersOfEmail(ctx, s.Pool, db.UsersOfEmailParams{Email: email, Lim: maxTried})
}

// pending is the content of a challenge's token. State is the time of the user's last change, which voids it.
type pending struct {
	OrgID, ID    string
	Until, State int64 // microseconds
}

// challengePlace is the place for sealing a challenge's token.
const challengePlace = "team/challenge"

// challenge returns a ready challenge, or requires the second factor if it is on.
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

// seal returns an encrypted token that only this server can read.
func (s *Service) seal(what any, place string) (string, error) {
	text, err := json.Marshal(what)
	if err != nil {
		return "", err
	}
	sealed, err := s.Keeper.Seal(text, place)
	return base64.RawURLEncoding.EncodeToString(sealed), err
}

// unseal decrypts a token of seal into what, or returns ErrSignedOut.
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

// challengedUser returns the user of a challenge's token.
func (s *Service) challengedUser(ctx context.Context, token string) (db.User, error) {
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

// Factor checks an authenticator code, or uses up a recovery code.
func (s *Service) Factor(ctx context.Context, challenge, code string, from From) (Challenge, error) {
	u, err := s.challengedUser(ctx, challenge)
	if err != nil {
		return Challenge{}, err
	}
	browser := s.rememberedUser(from, u.Email)
	if browser != u.ID { // another organization's user of the address
		browser = ""
	}
	err = s.limited(ctx, u.ID, browser, from.Address, func() error { return s.takeCode(ctx, u, code) })
	if err != nil {
		return Challenge{}, err
	}
	return Challenge{User: userOf(u), ready: true, factor: true}, nil
}

// idleSince returns the time since which a session must have been used.
func idleSince(now clock.Time) clock.Time { return now.Plus(-Idle) }
