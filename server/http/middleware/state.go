package middleware

import (
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"rail/server/auth"
	"rail/server/clock"
	"rail/server/http/site/browser"
	"rail/server/problem"
)

// state holds the results of a request's steps for later steps.
type state struct {
	id       string
	started  time.Time
	now      clock.Time
	route    *route // nil outside the description
	actor    auth.Actor
	key      auth.Key // the actor's; empty for a person of the console
	keyed    bool     // authentication succeeded
	via      string   // the source of the request, as via() names it
	token    string   // the key as sent
	paid     bool     // a token of the address's bucket was taken
	body     []byte
	unread   error // the reason why a body could not be read
	replayed bool
	limited  bool // served by Beyond's handler
	standby  bool // a standby answered
	tabular  bool // the answer is a table
	problem  *problem.Error
	budget   *budget         // for the rate headers
	caller   *browser.Caller // of a page's request
}

const stateKey = "rail.state"

// stateOf returns the state set by begin.
func stateOf(c echo.Context) *state {
	s, ok := c.Get(stateKey).(*state)
	if !ok {
		panic("front: no state; begin must run first")
	}
	return s
}

// match finds the operation. Paths outside the description (pages, probes) leave the request path
// here; unknown paths and methods are refused.
func (f *Front) match(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		s := stateOf(c)
		s.route = f.Document.route(c.Request().Method, c.Path())
		if s.route != nil {
			return next(c)
		}
		if allowed, ok := c.Get(echo.ContextKeyHeaderAllow).(string); ok && allowed != "" {
			return methodNotAllowed(c, allowed)
		}
		if c.Path() == "" || strings.HasPrefix(c.Path(), "/v1") || strings.HasSuffix(c.Path(), "*") && isAPI(c) {
			return f.Document.noPath(c.Request().URL.Path)
		}
		return f.outside(c)
	}
}

// isAPI reports whether the requested path is one of the API, whatever route the router chose.
func isAPI(c echo.Context) bool { return strings.HasPrefix(c.Request().URL.Path, "/v1/") }

// methodNotAllowed returns the 405 with the methods that the path has. The router
// adds OPTIONS, which no operation answers.
func methodNotAllowed(c echo.Context, allowed string) error {
	methods := strings.Split(strings.ReplaceAll(allowed, " ", ""), ",")
	answered := methods[:0]
	for _, m := range methods {
		if m != http.MethodOptions {
			answered = append(answered, m)
		}
	}
	list := strings.Join(answered, ", ")
	c.Response().Header().Set(echo.HeaderAllow, list)
	return problem.New(problem.MethodNotAllowed, "This path supports %s.", list)
}
