package middleware

import (
	"context"

	"github.com/labstack/echo/v4"

	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// HeaderPosition says where the database was after a write. Sent back with a read, it
// makes any server show that write.
const HeaderPosition = "Rail-Position"

// read runs the handler of a read: at a standby that shows what the caller has
// written, else at the primary. What a standby refuses, be it gone or behind, the
// primary is asked, so that nobody is told of an absence which has ended.
func (f *Front) read(ctx context.Context, c echo.Context, next echo.HandlerFunc) error {
	s := stateOf(c)
	if f.Standbys != nil && s.keyed && !s.route.atPrimary() {
		seen, _ := pgtx.ParsePosition(c.Request().Header.Get(HeaderPosition)) // validate has refused others
		if at := f.Standbys.Choose(s.actor.ID, seen); at != nil {
			there, end := at.Bound(ctx)
			err := f.readAt(there, c, next, f.unit(c, s, at.Pool, at.Reads))
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
	c.SetRequest(c.Request().WithContext(work.Into(ctx, u)))
	return next(c)
}

// wrote notes the position of what a request has committed, and tells it.
func (f *Front) wrote(ctx context.Context, s *state, out *buffered, at pgtx.Position) {
	if f.Standbys == nil {
		return
	}
	// What it did is committed, but not by its own transaction: perhaps at another server.
	if at == (pgtx.Position{}) {
		at = pgtx.Current(ctx, f.Pool)
	}
	f.Standbys.Wrote(s.actor.ID, at)
	if at != pgtx.Unknown {
		out.header.Set(HeaderPosition, at.String())
	}
}
