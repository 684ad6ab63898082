package middleware

import (
	"github.com/labstack/echo/v4"

	"rail/server/clock"
	"rail/server/ident"
)

// HeaderRequestID carries the id of the request on every response.
const HeaderRequestID = "Rail-Request-Id"

// begin gives the request its id and its time (step 1). The system clock measures the duration; now
// may come from a test's clock.
func (f *Front) begin(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		s := &state{id: ident.New(ident.Request), started: clock.Real(), now: f.Clock.Now(), via: via(c.Request().Context())}
		c.Set(stateKey, s)
		c.Response().Header().Set(HeaderRequestID, s.id)
		return next(c)
	}
}
