package console

import (
	"net/http"
	"time"

	"rail/server/http/middleware"
	"rail/server/postgres/pgtx"
	"rail/server/postgres/standby"
)

// positionCookie holds the database's position after a form, so that the next pages show the change, even from
// another server.
const positionCookie = "rail_console_position"

// keepPosition runs before the answer to a form leaves, when all that it did is committed.
func (v *visit) keepPosition() {
	if v.console.Position == nil {
		return
	}
	v.SetCookie(&http.Cookie{
		Name: positionCookie, Value: v.console.Position(v.Request().Context()), Path: "/console",
		MaxAge: int(standby.MaxLag / time.Second), HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: v.console.secure,
	})
}

// showPosition sends the position along with a request of the API.
func (v *visit) showPosition(h http.Header) {
	c, err := v.Cookie(positionCookie)
	if err != nil {
		return
	}
	if _, ok := pgtx.ParsePosition(c.Value); ok {
		h.Set(middleware.HeaderPosition, c.Value)
	}
}
