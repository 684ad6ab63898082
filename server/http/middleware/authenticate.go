package middleware

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"rail/server/auth"
	"rail/server/clock"
	"rail/server/problem"
)

// maxToken bounds the length of a token that is looked up; real keys are shorter.
const maxToken = 256

// authenticate finds the key of the request (step 4). A request without a valid
// key counts against the allowance of its address.
func (f *Front) authenticate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		s := stateOf(c)
		if s.route.Public || s.route.Browser {
			return next(c)
		}
		if s.actor, s.keyed = personOf(c.Request().Context()); !s.keyed {
			if err := f.known(c, s); err != nil {
				return err
			}
		}
		s.actor.Client = clientOf(c.Request().Context())
		return next(c)
	}
}

// known finds the key of the request, and charges the address for one without a valid key.
func (f *Front) known(c echo.Context, s *state) error {
	err := f.identify(c, s)
	if err != nil && toProblem(err).Status() == http.StatusUnauthorized {
		// Guessing keys costs tokens even without a look-up.
		if limited := f.pay(c, s); limited != nil {
			return limited
		}
		return err
	}
	f.giveBack(c, s)
	return err
}

// identify finds the key and records its use. A look-up in the database costs a token of the
// address's bucket, so that unknown keys cannot flood the database.
func (f *Front) identify(c echo.Context, s *state) error {
	token, err := bearer(c)
	if err != nil {
		return err
	}
	key, err := f.Keys.Find(c.Request().Context(), token, func() bool { return f.pay(c, s) == nil })
	switch {
	case errors.Is(err, auth.ErrUnknown):
		return problem.New(problem.APIKeyInvalid, "%s", unknownKey(token))
	case errors.Is(err, auth.ErrNotAsked):
		return limited(f.AddressLimit)
	case err != nil:
		return databaseProblem(err)
	case key.Revoked:
		return problem.New(problem.APIKeyRevoked, "This API key was revoked.")
	}
	s.actor, s.key, s.keyed, s.token = key.Actor, key, true, token
	if err := f.Keys.Used(c.Request().Context(), key); err != nil { // not a reason to refuse
		f.Log.Warn("cannot record the last use of a key", "key", key.ID, "error", err)
	}
	return nil
}

// unknownKey describes a token that is not an API key, if its form identifies it.
func unknownKey(token string) string {
	switch {
	case strings.HasPrefix(token, "rail_pub_"):
		return "This is a publishable key, which pages send as key; send an API key: rail_live_… or rail_test_…."
	case strings.HasPrefix(token, "whsec_"):
		return "This is the secret of a webhook endpoint; send an API key: rail_live_… or rail_test_…."
	}
	return "This API key is not known."
}

// markTest marks every response to a test key. It goes by the key's form, so that refusals before
// the look-up are marked too.
func markTest(c echo.Context) {
	if token, err := bearer(c); err == nil && auth.IsTest(token) {
		c.Response().Header().Set("X-Rail-Livemode", "false")
	}
}

// bearer returns the token of the Authorization header. A second header is refused, because proxies
// differ in which one they take.
func bearer(c echo.Context) (string, error) {
	values := c.Request().Header.Values(echo.HeaderAuthorization)
	if len(values) == 0 || len(values) == 1 && values[0] == "" {
		return "", problem.New(problem.APIKeyMissing, "Send your API key as Authorization: Bearer <key>.")
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") || token == "" || len(token) > maxToken {
		return "", problem.New(problem.APIKeyInvalid, "The Authorization header must be one Bearer API key.")
	}
	return token, nil
}

// signature verifies the signature of a request, and requires one if the key does (step 7). A wrong
// signature is refused even if none is required.
func (f *Front) signature(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if s := stateOf(c); s.keyed {
			values := c.Request().Header.Values("Rail-Signature")
			if err := s.verifySignature(values, clock.Wall(f.Clock).Now().Time); err != nil {
				return err
			}
		}
		return next(c)
	}
}

// verifySignature checks the Rail-Signature headers of the request against its
// body and the token of its key. The time is that of other machines.
func (s *state) verifySignature(values []string, now time.Time) error {
	if len(values) == 0 {
		if s.key.SigningRequired {
			return problem.New(problem.SignatureRequired, "This API key requires signed requests; send Rail-Signature.")
		}
		return nil
	}
	if len(values) > 1 {
		return problem.New(problem.SignatureInvalid, "Rail-Signature is given twice.")
	}
	if s.unread != nil {
		return nil //nolint:nilerr // checkBody refuses it
	}
	switch err := auth.VerifySignature(values[0], s.token, s.body, now); {
	case errors.Is(err, auth.ErrExpired):
		return problem.New(problem.SignatureExpired, "%s.", err)
	case err != nil:
		return problem.New(problem.SignatureInvalid, "%s.", err)
	}
	return nil
}
