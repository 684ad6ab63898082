package team

import (
	"strings"
	"time"
)

// RememberedLife is how long a browser is remembered after a sign-in.
const RememberedLife = 365 * 24 * time.Hour

// rememberedPlace is the place for sealing a browser's token.
const rememberedPlace = "team/browser"

// From is the origin of a sign-in.
type From struct {
	Address string // "" if it is not a public address
	Browser string // the token of Remember, if any
}

// browserToken is the content of a browser's token. Until is in microseconds.
type browserToken struct {
	UserID, Email string
	Until         int64
}

// Remember returns a token for the browser of a signed-in user. With it, the user's attempts are counted apart
// and wait in a separate queue, so that others cannot lock the user out. It grants no access. Attempts are
// counted by user, not by browser: the owner of another organization can make a user with the same address
// there, and sign in from any number of browsers.
func (s *Service) Remember(c Challenge) (string, error) {
	if !c.ready {
		return "", ErrSignedOut
	}
	return s.seal(browserToken{c.User.ID, c.User.Email, s.Clock.Now().Plus(RememberedLife).UnixMicro()}, rememberedPlace)
}

// rememberedUser returns the id of the user of an address who signed in from a browser before; "" for none.
func (s *Service) rememberedUser(from From, email string) string {
	var r browserToken
	if from.Browser == "" || s.unseal(from.Browser, rememberedPlace, &r) != nil {
		return ""
	}
	if r.Email != strings.ToLower(strings.TrimSpace(email)) || s.Clock.Now().UnixMicro() >= r.Until {
		return ""
	}
	return r.UserID
}
