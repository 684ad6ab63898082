package middleware

import (
	_ "embed"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
)

// probes are asked by balancers, which must never hear that they ask too often.
var probes = map[string]bool{"/healthz": true, "/readyz": true}

//go:embed limited.html
var limitedPage string

// Beyond sets what answers a path outside of the description for an address that
// asks too often, where it is not a refusal.
func (f *Front) Beyond(path string, h echo.HandlerFunc) { f.beyond[path] = h }

// outside serves what is not in the description (pages, short links, probes)
// within the allowance of an address, as for requests without a valid key.
func (f *Front) outside(c echo.Context) error {
	s := stateOf(c)
	if probes[c.Path()] {
		return c.Handler()(c)
	}
	refusal := f.pay(c, s)
	switch h := f.beyond[c.Path()]; {
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

// tooOften is the refusal for people. It needs no other file, which might be
// refused too.
func tooOften(c echo.Context, s *state, refusal error) error {
	s.problem = toProblem(refusal)
	h := c.Response().Header()
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Cache-Control", "no-store")
	h.Set("Retry-After", "1")
	return c.HTML(http.StatusTooManyRequests, limitedPage)
}
