package console

import (
	"net/http"

	"rail/server/http/middleware"
	"rail/server/postgres/pgtx"
	"rail/server/postgres/standby"
)

// keepPosition stores the database's position before the answer to a form leaves, when all that it did is committed.
// The next pages then show the change, even from another server.
func (v *visit) keepPosition() {
	if v.console.Position != nil {
		v.console.position.Set(v, v.console.Position(v.Request().Context()), standby.MaxLag)
	}
}

// showPosition sends the position along with a request of the API.
func (v *visit) showPosition(h http.Header) {
	if at := v.console.position.Value(v); at != "" {
		if _, ok := pgtx.ParsePosition(at); ok {
			h.Set(middleware.HeaderPosition, at)
		}
	}
}
