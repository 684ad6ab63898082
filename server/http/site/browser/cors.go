package browser

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"rail/server/problem"
	"rail/server/program/publishable"
)

// Paths are those of the operations that pages call.
var Paths = []string{"/t/c", "/t/me", "/t/lead"}

// Share lets pages of an origin read the answer, and send their cookie.
func Share(h http.Header, o publishable.Origin) {
	h.Set("Access-Control-Allow-Origin", o.Text)
	h.Set("Access-Control-Allow-Credentials", "true")
	h.Set("Access-Control-Expose-Headers", "Rail-Request-Id, Retry-After")
}

// Refused returns the refusal of an origin.
func Refused(origin string) error {
	if origin == "" {
		return problem.New(problem.OriginNotAllowed, "A page's request has an Origin; this one has none.")
	}
	return problem.New(problem.OriginNotAllowed, "The key is not for pages of %.100s; its allowed_hosts are.", origin)
}

// Preflight answers what a browser asks before it sends a body: whether pages of
// the origin may use the key in the query or, as the body's is not known yet, any
// key. Browsers keep the answer for two hours.
func Preflight(keys *publishable.Store) echo.HandlerFunc {
	return func(c echo.Context) error {
		r, h := c.Request(), c.Response().Header()
		h.Set("Vary", "Origin")
		origin, ok := publishable.ParseOrigin(r.Header.Get("Origin"))
		if ok {
			var err error
			if ok, err = allowed(c, keys, origin); err != nil {
				return err
			}
		}
		if !ok {
			return Refused(r.Header.Get("Origin"))
		}
		Share(h, origin)
		h.Set("Access-Control-Allow-Methods", "GET, POST")
		h.Set("Access-Control-Allow-Headers", "Content-Type")
		h.Set("Access-Control-Max-Age", "7200")
		return c.NoContent(http.StatusNoContent)
	}
}

// allowed reports whether pages of the origin may use the key of the query, or any.
func allowed(c echo.Context, keys *publishable.Store, o publishable.Origin) (bool, error) {
	ctx, token := c.Request().Context(), c.QueryParam("key")
	if token == "" {
		return keys.AllowsAny(ctx, o)
	}
	k, err := keys.Find(ctx, token)
	if err == publishable.ErrUnknown { //nolint:errorlint // it is returned as it is
		return false, nil
	}
	return err == nil && !k.Revoked && k.Allows(o), err
}
