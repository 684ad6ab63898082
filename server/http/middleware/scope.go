package middleware

import (
	"strings"

	"github.com/labstack/echo/v4"

	"rail/server/problem"
)

// scope checks the key against the operation's scopes (step 9). It comes before any look-up, so
// that a refusal does not reveal whether an object exists.
func (f *Front) scope(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		s := stateOf(c)
		if !s.route.Public && !s.route.Browser && !s.actor.Allows(s.route.Scopes) {
			return problem.New(problem.InsufficientScope, "This key lacks a scope that this operation needs: %s.",
				strings.Join(s.route.Scopes, " or "))
		}
		if err := unconfirmed(s); err != nil {
			return err
		}
		return next(c)
	}
}
