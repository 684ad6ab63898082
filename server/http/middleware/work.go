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
	"rail/server/postgres/pgtx/share"
	"rail/server/problem"
	"rail/server/work"
)

// buffered holds a response until its transaction has committed: a client must not see a change
// that is then rolled back. Its headers are added to those of the response.
type buffered struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (b *buffered) Header() http.Header         { return b.header }
func (b *buffered) WriteHeader(status int)      { b.status = status }
func (b *buffered) Write(p []byte) (int, error) { return b.body.Write(p) }

// work runs the handler (step 14). A read uses the pool. A write has one transaction with its
// changes, events and idempotency record, and its response is sent after the commit. An operation
// that waits for another server claims its key in a separate transaction first; the transaction of
// the work begins after the wait.
func (f *Front) work(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		s := stateOf(c)
		ctx := c.Request().Context()
		if s.caller != nil {
			c.SetRequest(c.Request().WithContext(work.Into(browser.Into(ctx, s.caller), f.visitorUnit(c, s))))
			return next(c)
		}
		if s.route.Method == http.MethodGet || s.route.Public {
			// Generated handlers do not see the request, but documents need this header.
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
		begin := f.beginner(s)
		// Deadlocks and serialization failures are retried from the start.
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

// unit returns the request as a unit of work: its tenant and the actor of its changes.
func (f *Front) unit(c echo.Context, s *state, pool *pgxpool.Pool, reads *share.Reads) *work.Unit {
	return work.New(pool, work.Unit{
		OrgID:     s.actor.OrgID,
		Plan:      f.Plan.With(s.actor.Plan),
		Actor:     s.actor.Work(),
		RequestID: s.id,
		Now:       s.now,
		Programs:  programs(c, s.body),
		Uncounted: s.tabular,
		Wake:      f.Wake,
		Reads:     reads,
	})
}

// beginner returns the function that begins each attempt's transaction. The first
// attempt of a frequent operation may share its transaction.
func (f *Front) beginner(s *state) func() *pgtx.Tx {
	share := f.GroupCommit != nil && s.route.shares()
	return func() (tx *pgtx.Tx) {
		if share {
			share = false
			tx = f.GroupCommit.Begin(s.actor.OrgID)
		} else {
			tx = pgtx.Begin(f.Pool)
		}
		if f.Standbys != nil {
			tx.Trace()
		}
		return tx
	}
}

// attempt runs the work once, in the unit's transaction. It returns the response to send, or an
// error if nothing was written.
func (f *Front) attempt(c echo.Context, next echo.HandlerFunc, u *work.Unit, r *record) (*buffered, error) {
	ctx, tx := c.Request().Context(), u.Tx
	defer tx.Rollback()
	if r != nil {
		if err := f.take(ctx, tx, c, r); err != nil {
			return f.withoutKey(c, tx, err)
		}
		// A refusal rolls back to here, so that the refusal itself can be stored.
		tx.Savepoint()
	}
	out, p, err := f.capture(c, next, u)
	if pgtx.Again(err) {
		return nil, err // the next attempt repeats the prechecks
	}
	if err := tx.Settle(ctx); err != nil {
		return f.withoutKey(c, tx, err)
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
		// Without a key, the refusal is not stored, and the transaction ends.
		if r == nil || !storable(p) {
			return out, nil // rolled back by the deferred call
		}
		tx.Undo()
	}
	if err != nil {
		return nil, err
	}
	if r != nil {
		if err := f.store(ctx, u, r, out); err != nil {
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
		// After the commit, because the workers that this wakes must find the rows.
		u.Committed()
	}
	return out, nil
}

// withoutKey returns the stored response of a key that the request does not get, if there is one.
func (f *Front) withoutKey(c echo.Context, tx *pgtx.Tx, err error) (*buffered, error) {
	tx.Rollback()
	var done doneError
	if !errors.As(err, &done) {
		return nil, err
	}
	f.wrote(c.Request().Context(), stateOf(c), done.response, tx.Position())
	return done.response, nil
}

// capture runs the handler into a buffer. It renders a refusal there, since the response may be
// stored, and returns an error that a retry may avoid.
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

// buffer runs a handler into a buffer. It resets the response, so that a retry or the writer of
// errors can use it.
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

// rewind rewinds the body for another attempt.
func rewind(req *http.Request) {
	if req.GetBody == nil {
		return
	}
	if b, err := req.GetBody(); err == nil {
		req.Body = b
	}
}

// send writes a buffered response.
func send(c echo.Context, out *buffered) error {
	h := c.Response().Header()
	maps.Copy(h, out.header)
	c.Response().WriteHeader(out.status)
	if _, err := c.Response().Write(out.body.Bytes()); err != nil && !errors.Is(err, http.ErrBodyNotAllowed) {
		return nil // the client has disconnected; the work is committed
	}
	return nil
}
