// Package mailpages serves the links in mails: the unsubscribe page and the tracking
// pixel that counts openings.
package mailpages

import (
	"net/http"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/secret"
)

var queries = db.New()

// Pages serves the pages. It holds their dependencies.
type Pages struct {
	Pool   *pgxpool.Pool
	Keeper *secret.Keeper
	Clock  clock.Clock
}

// Register adds the pages to e.
func (p Pages) Register(e *echo.Echo) {
	e.Match([]string{http.MethodGet, http.MethodHead}, "/mail/unsubscribe/:token", p.show)
	e.POST("/mail/unsubscribe/:token", p.unsubscribe)
	e.GET(PicturePath, p.opened)
}
