// Package work is what one API call carries through the server: who calls,
// when, under which request id, and, for a write, its transaction and events.
package work

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/server/auth"
	"rail/server/clock"
	"rail/server/event"
	"rail/server/postgres/pgtx"
)

// Call is one API call. Now is read once, so that everything a call writes
// bears one time.
type Call struct {
	RequestID string
	Key       auth.Key
	Now       clock.Time
	Operation string // the operationId
	// Programs are the program_id of the query and that of the body, which every
	// route tolerates; where the path names an object, they must be that object's
	// (decisions, 10).
	Programs []string
	// AcceptEncoding is the header of the request, for texts that are kept compressed.
	AcceptEncoding string
	Tx             *pgtx.Tx
	Events         *event.Recorder
	pool           *pgxpool.Pool
	committed      []func()
}

// New returns a call without a transaction.
func New(pool *pgxpool.Pool, requestID, operation string, key auth.Key, now clock.Time) *Call {
	return &Call{RequestID: requestID, Key: key, Now: now, Operation: operation, pool: pool}
}

// WithTx returns the call as a write in tx.
func (c *Call) WithTx(tx *pgtx.Tx) *Call {
	w := *c
	w.Tx = tx
	w.Events = &event.Recorder{OrgID: c.Key.OrgID, RequestID: c.RequestID, Now: c.Now}
	return &w
}

// DB returns what queries of this call run on: its transaction, or the pool
// for a call that only reads.
func (c *Call) DB() pgtx.DBTX {
	if c.Tx != nil {
		return c.Tx
	}
	return c.pool
}

// Outside returns what reads run on that must not begin the call's transaction,
// because what follows them takes long.
func (c *Call) Outside() pgtx.DBTX { return c.pool }

// Later returns what writes of this call run on when nothing depends on their
// result before the commit.
func (c *Call) Later() pgtx.DBTX { return c.Tx.Later() }

// OnCommit runs f once the call's transaction has been committed.
func (c *Call) OnCommit(f func()) { c.committed = append(c.committed, f) }

// Committed runs what was put off until the commit.
func (c *Call) Committed() {
	for _, f := range c.committed {
		f()
	}
}

// Fits tells whether an object of a program may be shown to this call.
func (c *Call) Fits(programID string) bool {
	return !slices.ContainsFunc(c.Programs, func(named string) bool { return named != programID })
}

// Together runs reads in one round trip and returns the first error that is
// not "no rows".
func (c *Call) Together(ctx context.Context, reads ...pgtx.Read) error {
	return pgtx.First(c.Each(ctx, reads...))
}

// Each runs reads in one round trip and returns the error of each.
func (c *Call) Each(ctx context.Context, reads ...pgtx.Read) []error {
	if c.Tx != nil {
		return c.Tx.Together(ctx, reads...)
	}
	return pgtx.Together(ctx, c.pool, reads...)
}

// Within runs work as a write of its own: in a new transaction with the events
// that it makes, and after the commit what was put off until then.
func (c *Call) Within(ctx context.Context, work func(*Call) error) error {
	var w *Call
	err := pgtx.Within(ctx, c.pool, func(tx *pgtx.Tx) error {
		w = c.WithTx(tx)
		if err := work(w); err != nil {
			return err
		}
		return w.Events.Flush(ctx, tx.Later())
	})
	if err == nil {
		w.Committed()
	}
	return err
}

type key struct{}

// Into returns a context that carries the call.
func Into(ctx context.Context, c *Call) context.Context { return context.WithValue(ctx, key{}, c) }

// From returns the call that ctx carries; it panics where the request path put
// none, which is a mistake of wiring and not of a client.
func From(ctx context.Context) *Call {
	c, ok := ctx.Value(key{}).(*Call)
	if !ok {
		panic("call: the context carries no call")
	}
	return c
}
