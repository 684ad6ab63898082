package middleware

import (
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"rail/server/problem"
)

// headerVersion names the contract's version, on requests (optional) and on
// responses.
const headerVersion = "X-Rail-Version"

// headers sets the headers of every API response (step 2): the version, the rate limit, no caching
// and no sniffing. It refuses an unsupported version.
func (f *Front) headers(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("X-Content-Type-Options", "nosniff")
		if !describedPath(c.Request().URL.Path) {
			return next(c)
		}
		h.Set(headerVersion, Version)
		h.Set("Cache-Control", "no-store")
		if c.Request().TransferEncoding != nil { // against request smuggling
			h.Set("Connection", "close")
		}
		markTest(c)
		// The budget is known only after the rate limit step, so write its headers last.
		c.Response().Before(func() { f.writeRate(c) })
		if v := c.Request().Header.Get(headerVersion); v != "" && v != Version {
			return problem.On(headerVersion, problem.UnsupportedVersion, "This server supports only version %s.", Version)
		}
		return next(c)
	}
}

// describedPath reports whether a path belongs to the described API or its documents (decisions,
// 193).
func describedPath(path string) bool {
	return path == "/v1" || strings.HasPrefix(path, "/v1/") || strings.HasPrefix(path, "/t/") || path == "/llms.txt" || path == "/llms-full.txt"
}

// writeRate writes the rate headers. A request that ended before it was counted gets the full
// allowance of an unknown caller.
func (f *Front) writeRate(c echo.Context) {
	s := stateOf(c)
	b := s.budget
	if b == nil {
		b = &budget{limit: f.AddressLimit, remaining: f.AddressLimit, reset: s.now.Unix()}
	}
	h := c.Response().Header()
	h.Set("X-RateLimit-Limit", strconv.Itoa(b.limit))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(b.remaining))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(b.reset, 10))
}
