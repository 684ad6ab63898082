package team

import (
	"crypto/rand"
	"strings"
	"time"
)

// RememberedLife is how long a browser is known after somebody has signed in.
const RememberedLife = 365 * 24 * time.Hour

// rememberedPlace is what a browser's token is sealed for.
const rememberedPlace = "team/browser"

// From is where somebody signs in from.
type From struct {
	Address string // "" for one that no stranger has
	Browser string // the token of Remember, if the browser has one
}

// remembered is what the token of a browser says. Until is in microseconds.
type remembered struct {
	ID, Email string
	Until     int64
}

// Remember returns a token for the browser of who has signed in. With it, what strangers try
// keeps nobody out: attempts of the person are counted by the browser, and have turns of
// their own. It opens nothing by itself.
func (s *Service) Remember(c Challenge) (string, error) {
	if !c.ready {
		return "", ErrSignedOut
	}
	return s.seal(remembered{rand.Text(), c.User.Email, s.Clock.Now().Plus(RememberedLife).UnixMicro()}, rememberedPlace)
}

// browser returns what the browser of an address's user is called; "" for one in which they have
// not signed in.
func (s *Service) browser(from From, email string) string {
	var r remembered
	if from.Browser == "" || s.unseal(from.Browser, rememberedPlace, &r) != nil {
		return ""
	}
	if r.Email != strings.ToLower(strings.TrimSpace(email)) || s.Clock.Now().UnixMicro() >= r.Until {
		return ""
	}
	return r.ID
}
