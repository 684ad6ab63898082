package middleware

import (
	_ "embed"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
)

// probes are exempt from the rate limit: a load balancer would take the server out of service after
// a refusal.
var probes = map[string]bool{"/healthz": true, "/readyz": true}

//go:embed limited.html
var limitedPage string

// HandleLimited sets the handler of a path for addresses above their rate limit, in place of the refusal:
// a short link, for example, still redirects but records nothing.
func (f *Front) HandleLimited(path string, h echo.HandlerFunc) { f.limitedHandlers[path] = h }

// Exempt exempts a path from the limits here; its handler charges requests itself. Metrics count them
// under the operation's name.
func (f *Front) Exempt(path, operation string) { f.exempt[path] = operation }

// Charge charges a request to its address, at most once.
func (f *Front) Charge(c echo.Context) error { return f.pay(c, stateOf(c)) }

// GiveBack undoes the charge of a request to its address.
func (f *Front) GiveBack(c echo.Context) { f.giveBack(c, stateOf(c)) }

// ChargeTo charges a request to a name, on this replica.
func (f *Front) ChargeTo(name string, perSecond int) error {
	if _, ok := f.limiter.take(name, perSecond); !ok {
		return limited(perSecond)
	}
	return nil
}

// outside serves routes outside the description (pages, short links, probes) within the rate limit
// of an address without a valid key.
func (f *Front) outside(c echo.Context) error {
	s := stateOf(c)
	if probes[c.Path()] || f.exempt[c.Path()] != "" {
		return c.Handler()(c)
	}
	refusal := f.pay(c, s)
	switch h := f.limitedHandlers[c.Path()]; {
	case refusal == nil:
		return c.Handler()(c)
	case h != nil:
		s.limited = true
		return h(c)
	case strings.Contains(c.Request().Header.Get(echo.HeaderAccept), echo.MIMETextHTML):
		return tooOften(c, s, refusal)
	}
	return refusal
}

// tooOften writes the refusal as a page for people. The page loads no other file, because that
// request might be refused too.
func tooOften(c echo.Context, s *state, refusal error) error {
	s.problem = toProblem(refusal)
	h := c.Response().Header()
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Retry-After", "1")
	return c.HTML(http.StatusTooManyRequests, limitedPage)
}
