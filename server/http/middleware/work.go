package middleware

import (
	"bytes"
	"errors"
	"maps"
	"net/http"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"

	"rail/server/http/docs/static"
	"rail/server/http/site/browser"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/work"
)

// buffered keeps a response back until its transaction has committed: a client
// must not read of a change that is then undone. Its headers come on top of those that the response has.
type buffered struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (b *buffered) Header() http.Header         { return b.header }
func (b *buffered) WriteHeader(status int)      { b.status = status }
func (b *buffered) Write(p []byte) (int, error) { return b.body.Write(p) }

// work runs the handler (step 14). A read gets the pool; a write gets one
// transaction with its changes, its events and its idempotency record, and
// its response leaves only after the commit. An operation that waits for another
// server first claims its key in a transaction of its own; the transaction of the
// work begins when the wait is over.
func (f *Front) work(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		s := stateOf(c)
		ctx := c.Request().Context()
		if s.caller != nil {
			c.SetRequest(c.Request().WithContext(work.Into(browser.Into(ctx, s.caller), f.visitorUnit(c, s))))
			return next(c)
		}
		if s.route.Method == http.MethodGet || s.route.Public {
			// The generated handlers do not get the request, but the documents
			// need the header.
			ctx = static.Accepting(ctx, c.Request().Header.Get("Accept-Encoding"))
			return f.read(ctx, c, next)
		}
		base := f.unit(c, s, f.Pool, f.Reads)
		record, err := f.newRecord(c, s)
		if err != nil {
			return err
		}
		defer f.release(ctx, record)
		var out *buffered
		begin := f.boards(s)
		// Deadlocks and serialization failures are tried again, each time from
		// the start.
		err = work.Retry(ctx, func() (err error) {
			out, err = f.attempt(c, next, base.WithTx(begin()), record)
			return err
		})
		if err != nil {
			return err
		}
		return send(c, out)
	}
}

// unit returns the request as a unit of work: whose data it may see and who is
// noted as the actor of its changes.
func (f *Front) unit(c echo.Context, s *state, pool *pgxpool.Pool, reads *pgtx.Reads) *work.Unit {
	return work.New(pool, work.Unit{
		OrgID: s.actor.OrgID, Plan: f.Plan.With(s.actor.Plan),
		Actor:     s.actor.Work(),
		RequestID: s.id, Now: s.now, Programs: programs(c, s.body), Wake: f.Wake,
		Reads: reads,
	})
}

// boards returns what begins the transaction of each attempt. The first one of
// an operation that many send at once may share its transaction.
func (f *Front) boards(s *state) func() *pgtx.Tx {
	rides := f.Bus != nil && s.route.rides()
	return func() (tx *pgtx.Tx) {
		if rides {
			rides = false
			tx = f.Bus.Begin(s.actor.OrgID)
		} else {
			tx = pgtx.Begin(f.Pool)
		}
		if f.Standbys != nil {
			tx.Trace()
		}
		return tx
	}
}

// attempt does the work once, in the unit's transaction. It returns the response
// to send, or an error after which nothing was written.
func (f *Front) attempt(c echo.Context, next echo.HandlerFunc, u *work.Unit, r *record) (*buffered, error) {
	ctx, tx := c.Request().Context(), u.Tx
	defer tx.Rollback()
	if r != nil {
		if err := f.take(ctx, tx, c, r); err != nil {
			return f.unclaimed(c, tx, err)
		}
		// A refusal is undone up to here, so that the refusal itself can be
		// stored.
		tx.Savepoint()
	}
	out, p, err := f.capture(c, next, u)
	if pgtx.Again(err) {
		return nil, err // what goes ahead goes with the next attempt
	}
	if err := tx.Settle(ctx); err != nil {
		return f.unclaimed(c, tx, err)
	}
	if err != nil {
		return nil, err
	}
	// A refusal may keep its effects: a self-referral leaves a risk flag.
	done := p == nil || p.Committed
	if p == nil {
		err = logPerson(ctx, stateOf(c), u, out)
	}
	if err != nil {
		return nil, err
	}
	if done {
		err = u.Events.Flush(ctx, u.Later())
	} else {
		// Without a key there is nothing to keep: the transaction ends with the
		// refusal.
		if r == nil || !storable(p) {
			return out, nil // rolled back by the deferred call
		}
		tx.Undo()
	}
	if err != nil {
		return nil, err
	}
	if r != nil {
		if err := f.keep(ctx, u, r, out); err != nil {
			return nil, err
		}
	}
	if err := tx.Commit(ctx); err != nil {
		return nil, err
	}
	f.wrote(ctx, stateOf(c), out, tx.Position())
	if r != nil {
		// The answer has replaced the claim, so there is nothing to release.
		r.claimed = false
	}
	if done {
		// Only now, since the workers that this wakes must find what was
		// committed.
		u.Committed()
	}
	return out, nil
}

// unclaimed returns the response to send by a request that does not have its key, if
// there is one.
func (f *Front) unclaimed(c echo.Context, tx *pgtx.Tx, err error) (*buffered, error) {
	tx.Rollback()
	var done repeated
	if !errors.As(err, &done) {
		return nil, err
	}
	f.wrote(c.Request().Context(), stateOf(c), done.response, tx.Position())
	return done.response, nil
}

// capture runs the handler into a buffer. A refusal is rendered there, as part of
// the response that may be stored; an error that another attempt may avoid is
// returned.
func (f *Front) capture(c echo.Context, next echo.HandlerFunc, u *work.Unit) (*buffered, *problem.Error, error) {
	req := c.Request()
	c.SetRequest(req.WithContext(work.Into(req.Context(), u)))
	defer c.SetRequest(req)
	rewind(req)
	var p *problem.Error
	out, err := buffer(c, func(c echo.Context) error {
		err := next(c)
		if err == nil || pgtx.Again(err) {
			return err
		}
		if refused := toProblem(err); refused.Status() < http.StatusInternalServerError {
			p = refused
			f.writeError(p, c)
			return nil
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return out, p, nil
}

// buffer runs a handler and keeps its answer back. Afterwards the response looks
// unused, as another attempt and the writer of errors need it.
func buffer(c echo.Context, next echo.HandlerFunc) (*buffered, error) {
	res := c.Response()
	out := &buffered{header: http.Header{}, status: http.StatusOK}
	original := res.Writer
	res.Writer = out
	defer func() {
		res.Writer = original
		res.Committed, res.Status, res.Size = false, http.StatusOK, 0
	}()
	return out, next(c)
}

// rewind sets the body back to its start for another attempt.
func rewind(req *http.Request) {
	if req.GetBody == nil {
		return
	}
	if b, err := req.GetBody(); err == nil {
		req.Body = b
	}
}

// send writes a response that was kept back.
func send(c echo.Context, out *buffered) error {
	h := c.Response().Header()
	maps.Copy(h, out.header)
	c.Response().WriteHeader(out.status)
	if _, err := c.Response().Write(out.body.Bytes()); err != nil && !errors.Is(err, http.ErrBodyNotAllowed) {
		return nil // the client is gone; the work stands
	}
	return nil
}
