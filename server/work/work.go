// Package work is the unit of work: one tenant, one actor, one time, and, for a write, one transaction with its
// events. Requests, forms, job runs and processors' webhooks each become units; the rules of packages money and
// program run in one and are independent of its origin.
package work

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/events"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/postgres/pgtx"
	"rail/server/postgres/pgtx/share"
	"rail/server/problem"
	"rail/server/work/event"
	"rail/server/work/quota"
)

// Unit is one unit of work. Now is read once, so that all writes of a unit have one time. A unit that only reads
// has no transaction.
type Unit struct {
	OrgID     string // the tenant, to which every statement is bound
	Plan      quota.Plan
	Actor     Actor
	RequestID string // req_ of a request or run_ of a job, for its events
	Now       clock.Time
	// Programs restrict the unit: objects of other programs are not found. They are the program_id of a request's
	// query and body, or a partner's program.
	Programs []string
	Tx       *pgtx.Tx
	Events   *event.Recorder
	// Sample marks the objects that the unit adds as those of a sample program; the audit log omits them.
	Sample bool
	// Silent drops the unit's events, as for imported objects that other systems have already.
	Silent bool
	// Uncounted leaves out the totals of lists, which are 0: a table reads many pages and shows none.
	Uncounted bool
	// Reads batches short reads of units without a transaction; nil sends each alone.
	Reads *share.Reads
	// Wake is called after a commit that wrote events; it may be nil.
	Wake func()

	pool      *pgxpool.Pool
	committed *[]func()
	logged    *bool
}

// New returns u as a unit on pool, without a transaction.
func New(pool *pgxpool.Pool, u Unit) *Unit {
	u.pool = pool
	return &u
}

// NewRun returns a unit of no tenant for background work such as a job, with a new run id; For makes it a
// tenant's.
func NewRun(pool *pgxpool.Pool, by Actor, now clock.Time) *Unit {
	return New(pool, Unit{Actor: by, RequestID: ident.New(ident.Run), Now: now})
}

// WithTx returns the unit as a write in tx.
func (u *Unit) WithTx(tx *pgtx.Tx) *Unit {
	w := *u
	w.Tx, w.Events, w.committed = tx, &event.Recorder{RequestID: u.RequestID, Now: u.Now}, new([]func())
	w.logged = new(bool)
	return &w
}

// NewID returns a new id for an object that the unit adds.
func (u *Unit) NewID(p ident.Prefix) string {
	if u.Sample {
		return ident.NewSample(p)
	}
	return ident.New(p)
}

// For returns the unit for another tenant, in the same transaction, since a job serves many.
func (u *Unit) For(orgID string) *Unit {
	w := *u
	w.OrgID = orgID
	return &w
}

// By returns the unit with another actor.
func (u *Unit) By(a Actor) *Unit {
	w := *u
	w.Actor = a
	return &w
}

// DB returns the database handle for queries: the transaction, or the pool for a unit that only reads.
func (u *Unit) DB() pgtx.DBTX {
	if u.Tx != nil {
		return u.Tx
	}
	return u.pool
}

// Short returns the database handle for short queries, such as a look-up by an id: a unit that only reads
// batches them with those of others.
func (u *Unit) Short() pgtx.DBTX {
	if u.Tx == nil && u.Reads != nil {
		return u.Reads.For(u.OrgID)
	}
	return u.DB()
}

// Outside returns the unit without its transaction, for reads before something slow: a transaction that has not
// begun occupies no connection.
func (u *Unit) Outside() *Unit {
	w := *u
	w.Tx, w.Events, w.committed = nil, nil, nil
	return &w
}

// Later returns the database handle for writes whose result is not needed before the commit: they are sent with
// it and cost no round trip.
func (u *Unit) Later() pgtx.DBTX { return u.Tx.Later() }

// Record adds an event of the unit's tenant, to be written with its changes, unless the unit is silent.
func (u *Unit) Record(about event.Subject, e events.Event) {
	if !u.Silent {
		u.Events.Record(u.OrgID, about, e)
	}
}

// Log notes that the audit log has an entry for this change.
func (u *Unit) Log() {
	if u.logged != nil {
		*u.logged = true
	}
}

// Logged reports whether the audit log has an entry for this change.
func (u *Unit) Logged() bool { return u.logged != nil && *u.logged }

// OnCommit runs f after the commit of the unit's transaction.
func (u *Unit) OnCommit(f func()) { *u.committed = append(*u.committed, f) }

// Committed runs the functions of OnCommit, and wakes the sender if the unit wrote events.
func (u *Unit) Committed() {
	for _, f := range *u.committed {
		f()
	}
	if u.Wake != nil && u.Events.Len() > 0 {
		u.Wake()
	}
}

// CheckProgram returns a 404 for a program outside the unit's programs.
func (u *Unit) CheckProgram(programID string) error {
	if slices.ContainsFunc(u.Programs, func(named string) bool { return named != programID }) {
		return problem.NotFound("program_id")
	}
	return nil
}

// Together runs reads in one round trip and returns the first error that is
// not "no rows".
func (u *Unit) Together(ctx context.Context, reads ...pgtx.Read) error {
	return pgtx.First(u.Each(ctx, reads...))
}

// Each runs reads in one round trip and returns the error of each.
func (u *Unit) Each(ctx context.Context, reads ...pgtx.Read) []error {
	if u.Tx != nil {
		return u.Tx.Together(ctx, reads...)
	}
	return pgtx.Together(ctx, u.pool, reads...)
}

// Read runs one read, also in a shared transaction.
func (u *Unit) Read(ctx context.Context, read pgtx.Read) error { return u.Each(ctx, read)[0] }

// Claim names objects of the tenant that the unit locks: only one of the units that share a transaction may
// decide about each.
func (u *Unit) Claim(kind string, ids ...string) error {
	return u.Tx.Claim(kind + " " + u.OrgID + " " + strings.Join(ids, " "))
}

// Within runs do as a write: in a separate transaction with its events, and then the functions of OnCommit.
// After a lost race, do runs again, so it must keep nothing from an earlier run.
func (u *Unit) Within(ctx context.Context, do func(*Unit) error) error {
	return Retry(ctx, func() error { return u.within(ctx, pgtx.Begin(u.pool), do) })
}

// WithinShared is Within for one attempt in a transaction that other units may share. If do needs a separate
// transaction, the error is one of pgtx.Again.
func (u *Unit) WithinShared(ctx context.Context, commits *share.GroupCommit, do func(*Unit) error) error {
	tx, ok := commits.Share(u.OrgID)
	if !ok {
		return pgtx.ErrRetryAlone
	}
	return u.within(ctx, tx, do)
}

// within runs do in a transaction that has not begun.
func (u *Unit) within(ctx context.Context, tx *pgtx.Tx, do func(*Unit) error) error {
	w := u.WithTx(tx)
	err := tx.Do(ctx, func(tx *pgtx.Tx) error {
		if err := do(w); err != nil {
			return err
		}
		return w.Events.Flush(ctx, tx.Later())
	})
	if err == nil {
		w.Committed()
	}
	return err
}

// Share does n pieces of work as writes inside the unit's transaction, with as few statements as one, and
// returns the error of each. A piece with an error is rolled back, unless the error keeps its effects.
func (u *Unit) Share(ctx context.Context, n int, do func(i int, u *Unit) error) []error {
	refused, parts := make([]error, n), make([]*Unit, n)
	errs := share.Nested(ctx, u.Tx, n, func(i int, tx *pgtx.Tx) error {
		w := u.WithTx(tx)
		refused[i] = nil // from an earlier attempt, which was rolled back
		err := do(i, w)
		var p *problem.Error
		if errors.As(err, &p) && p.Committed {
			refused[i], err = err, nil
		}
		if err != nil {
			return err
		}
		parts[i] = w
		return w.Events.Flush(ctx, w.Later())
	})
	for i, err := range errs {
		if err == nil {
			errs[i] = refused[i]
			u.OnCommit(parts[i].Committed)
		}
	}
	return errs
}

// key is the type of the context's key, private to this package.
type key struct{}

// Into returns a context with the unit.
func Into(ctx context.Context, u *Unit) context.Context { return context.WithValue(ctx, key{}, u) }

// From returns the unit in ctx; it panics without one, which is a programming error, not a client's.
func From(ctx context.Context) *Unit {
	u, ok := ctx.Value(key{}).(*Unit)
	if !ok {
		panic("work: the context has no unit of work")
	}
	return u
}
