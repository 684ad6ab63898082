package front

import (
	"errors"
	"strings"

	"github.com/labstack/echo/v4"

	"rail/server/auth"
	"rail/server/problem"
)

// maxToken bounds what is hashed and looked up.
const maxToken = 256

// authenticate finds the key of the request (step 4) and judges its signature.
// A request without a valid key counts against the allowance of its address.
func (f *Front) authenticate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		s := stateOf(c)
		if s.route.public {
			return next(c)
		}
		if err := f.identify(c, s); err != nil {
			var p *problem.Error
			if errors.As(err, &p) && p.Status() == 401 {
				if limited := f.limitAnonymous(c, s); limited != nil {
					return limited
				}
			}
			return err
		}
		return next(c)
	}
}

func (f *Front) identify(c echo.Context, s *state) error {
	token, err := bearer(c)
	if err != nil {
		return err
	}
	key, err := f.Keys.Find(c.Request().Context(), token)
	switch {
	case errors.Is(err, auth.ErrUnknown):
		return problem.New(problem.APIKeyInvalid, "This API key is not known.")
	case err != nil:
		return databaseProblem(err)
	case key.Revoked:
		markTest(c, key)
		return problem.New(problem.APIKeyRevoked, "This API key was revoked.")
	}
	s.key, s.keyed = key, true
	markTest(c, key)
	if err := verifySignature(c, s, token); err != nil {
		return err
	}
	if err := f.Keys.Used(c.Request().Context(), key); err != nil { // bookkeeping; no reason to refuse
		f.Log.Warn("last use of a key not noted", "key", key.ID, "error", err)
	}
	return nil
}

// markTest tells on every response that a test key asked.
func markTest(c echo.Context, k auth.Key) {
	if !k.Live {
		c.Response().Header().Set("X-Rail-Livemode", "false")
	}
}

// bearer reads the one Authorization header.
func bearer(c echo.Context) (string, error) {
	given := c.Request().Header.Values(echo.HeaderAuthorization)
	if len(given) == 0 || len(given) == 1 && given[0] == "" {
		return "", problem.New(problem.APIKeyMissing, "Send your API key as Authorization: Bearer <key>.")
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	token = strings.TrimSpace(token)
	if len(given) > 1 || !strings.EqualFold(scheme, "Bearer") || token == "" || len(token) > maxToken {
		return "", problem.New(problem.APIKeyInvalid, "The Authorization header must be one Bearer API key.")
	}
	return token, nil
}

// verifySignature judges a signature whenever one is sent, and misses it where
// the key asked for it (specification, Authentication 5).
func verifySignature(c echo.Context, s *state, token string) error {
	given := c.Request().Header.Values("Rail-Signature")
	if len(given) == 0 {
		if s.key.SigningRequired {
			return problem.New(problem.SignatureRequired, "This API key requires signed requests; send Rail-Signature.")
		}
		return nil
	}
	if len(given) > 1 {
		return problem.New(problem.SignatureInvalid, "Rail-Signature is given twice.")
	}
	if s.unread != nil {
		return nil // the door refuses it
	}
	switch err := auth.VerifySignature(given[0], token, s.body, s.now.Time); {
	case errors.Is(err, auth.ErrExpired):
		return problem.New(problem.SignatureExpired, "%s.", err)
	case err != nil:
		return problem.New(problem.SignatureInvalid, "%s.", err)
	}
	return nil
}
