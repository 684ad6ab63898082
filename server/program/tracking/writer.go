package tracking

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/server/postgres/pgtx"
	"rail/server/work"
)

const (
	// mostVisits bounds the visits that are written together.
	mostVisits = 128
	// enough is how many have to wait for a second transaction to begin beside one: fewer cost more
	// than the second gains.
	enough = 16
)

// Writer writes the visits of requests that come at the same moment with one
// look-up and one transaction. Each request is answered after the commit; where
// nothing of that was kept, each records its own visit.
type Writer struct {
	pool  *pgxpool.Pool
	queue *pgtx.Queue[*pending]
}

// NewWriter returns a writer on pool, which has two connections at most.
func NewWriter(pool *pgxpool.Pool) *Writer {
	w := &Writer{pool: pool}
	w.queue = pgtx.NewQueue(pgtx.Limits{Riders: mostVisits, Trips: 2, Beside: enough}, w.batch)
	return w
}

// Shared returns what has been written together so far.
func (w *Writer) Shared() pgtx.Shared { return w.queue.Shared() }

// pending is a visit that waits to be written. Two of a browser are not written at
// once: the second would not see the referral that the first opens.
type pending struct {
	pgtx.Ticket
	arrival

	service Service
	unit    *work.Unit // of its request, whose transaction has not begun
	written *work.Unit // what it did in the shared one; nil for nothing
	click   recorded
	err     error
	done    chan struct{}
}

func newPending(s Service, u *work.Unit, a arrival) *pending {
	who := u.OrgID + a.programID + string(a.visitor())
	return &pending{
		Ticket: pgtx.Ticket{Tenant: u.OrgID, Names: []string{who}}, arrival: a, service: s, unit: u,
		done: make(chan struct{}),
	}
}

// write records a visit of the unit's tenant, and its events, and wakes their
// sender. Of an error for which pgtx.Again is true nothing was kept.
func (w *Writer) write(ctx context.Context, s Service, u *work.Unit, a arrival) (recorded, error) {
	if w.queue.Apart(u.OrgID) {
		return recorded{}, pgtx.ErrAlone
	}
	p := newPending(s, u, a)
	w.queue.Join(p)
	select {
	case <-p.done:
		return p.click, p.err
	case <-ctx.Done(): // under way, it may be written all the same, as at any commit
		w.queue.Quit(p)
		return recorded{}, ctx.Err()
	}
}

// batch records visits and answers them.
func (w *Writer) batch(ctx context.Context, visits []*pending) {
	err := w.store(ctx, visits)
	var blame []*pending
	if pgtx.Again(err) {
		if w.queue.SentAway(len(visits)); len(visits) > 1 {
			blame = visits // it cannot be seen whose it was
		}
	}
	w.queue.Arrived(visits, err == nil, blame...)
	for _, p := range visits {
		if p.err == nil {
			p.err = err
		}
		close(p.done)
	}
	if err != nil {
		return
	}
	for _, p := range visits {
		if p.written != nil {
			p.written.Committed()
		}
	}
}

// store writes all visits that can be recorded, in one transaction. What panics, before
// anything is sent, does so again in the request that records alone.
func (w *Writer) store(ctx context.Context, visits []*pending) (err error) {
	tx := pgtx.Begin(w.pool)
	defer tx.Rollback()
	defer func() { // there is no request here whose path would catch it
		if recover() != nil {
			err = pgtx.ErrAlone
		}
	}()
	if err := w.put(ctx, tx, visits); err != nil {
		return pgtx.Alone(err)
	}
	if err := tx.Commit(ctx); err != nil {
		return pgtx.Alone(err)
	}
	for _, p := range visits {
		p.unit.Tx.Wrote(tx)
	}
	return nil
}

// put puts off what all visits write, until the commit of tx.
func (w *Writer) put(ctx context.Context, tx *pgtx.Tx, visits []*pending) error {
	units, arrivals := make([]*work.Unit, len(visits)), make([]arrival, len(visits))
	for i, p := range visits {
		units[i], arrivals[i] = p.unit, p.arrival
	}
	hits, err := resolve(ctx, func(read pgtx.Read) error { return read(w.pool) }, units, arrivals)
	if err != nil {
		return err
	}
	if _, err := tx.Later().Exec(ctx, pgtx.LockWait); err != nil {
		return err
	}
	var parts []*pgtx.Tx
	for i, p := range visits {
		u := p.unit.WithTx(pgtx.Begin(w.pool))
		if p.click, p.err = p.service.record(ctx, u, p.arrival, hits[i]); p.err != nil {
			continue
		}
		if err := u.Events.Flush(ctx, u.Later()); err != nil {
			return err
		}
		p.written = u
		parts = append(parts, u.Tx)
		tx.WriteFor(p.unit.Tx)
	}
	tx.Join(parts...)
	return nil
}
