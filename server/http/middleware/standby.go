package middleware

import (
	"context"

	"github.com/labstack/echo/v4"

	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// HeaderPosition is the database position after a write. A client that sends it with a read sees
// that write on every server.
const HeaderPosition = "Rail-Position"

// read runs the handler of a read on a standby that has replayed the caller's writes, or on the
// primary. If the standby fails or does not find the object, the primary answers, because the
// standby may lag.
func (f *Front) read(ctx context.Context, c echo.Context, next echo.HandlerFunc) error {
	s := stateOf(c)
	if f.Standbys != nil && s.keyed && !s.route.atPrimary() {
		seen, _ := pgtx.ParsePosition(c.Request().Header.Get(HeaderPosition)) // validate refuses invalid ones
		if at := f.Standbys.Choose(s.actor.ID, seen); at != nil {
			bounded, end := at.Bound(ctx)
			err := f.readAt(bounded, c, next, f.unit(c, s, at.Pool, at.Reads))
			if end(); err == nil || c.Response().Committed {
				s.standby = true
				f.Metrics.read("standby")
				return err
			}
		}
		f.Metrics.read("primary")
	}
	return f.readAt(ctx, c, next, f.unit(c, s, f.Pool, f.Reads))
}

// readAt runs the handler of a read in a unit of work.
func (f *Front) readAt(ctx context.Context, c echo.Context, next echo.HandlerFunc, u *work.Unit) error {
	req := c.Request()
	c.SetRequest(req.WithContext(work.Into(ctx, u)))
	defer c.SetRequest(req) // the context of a standby's read ends before a table's next page
	return next(c)
}

// wrote records the position of a request's commit and sends it in HeaderPosition.
func (f *Front) wrote(ctx context.Context, s *state, out *buffered, at pgtx.Position) {
	if f.Standbys == nil {
		return
	}
	// Another transaction, perhaps on another server, has committed its work.
	if at == (pgtx.Position{}) {
		at = pgtx.Current(ctx, f.Pool)
	}
	f.Standbys.Wrote(s.actor.ID, at)
	if at != pgtx.Unknown {
		out.header.Set(HeaderPosition, at.String())
	}
}
