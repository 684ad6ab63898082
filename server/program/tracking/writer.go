package tracking

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/server/postgres/pgtx"
	"rail/server/postgres/pgtx/share"
	"rail/server/work"
)

const (
	// maxBatchVisits bounds the visits of one batch.
	maxBatchVisits = 128
	// minSecondBatch is the queue length from which a second concurrent transaction
	// pays off.
	minSecondBatch = 4
)

// Writer batches the visits of concurrent requests into one look-up and one transaction. Each request is
// answered after the commit; if a batch fails, each request records its visit itself.
type Writer struct {
	pool    *pgxpool.Pool
	batcher *share.Batcher[*pending]
}

// NewWriter returns a writer that uses at most two connections of pool.
func NewWriter(pool *pgxpool.Pool) *Writer {
	w := &Writer{pool: pool}
	w.batcher = share.NewBatcher(share.Limits{Members: maxBatchVisits, Batches: 2, MinParallel: minSecondBatch}, w.batch)
	return w
}

// Stats returns the counts of batches and visits.
func (w *Writer) Stats() share.Stats { return w.batcher.Stats() }

// pending is a waiting visit. Two visits of one browser are not in the same batch: the second would not see the
// referral of the first.
type pending struct {
	share.Entry
	arrival

	service Service
	unit    *work.Unit // of its request, whose transaction has not begun
	written *work.Unit // its part of the batch; nil for none
	click   clickResult
	err     error
	done    chan struct{}
}

func newPending(s Service, u *work.Unit, a arrival) *pending {
	visitor := u.OrgID + a.programID + string(a.visitor())
	return &pending{
		Entry: share.Entry{Tenant: u.OrgID, Names: []string{visitor}}, arrival: a, service: s, unit: u,
		done: make(chan struct{}),
	}
}

// write records a visit of the unit's tenant, and its events, and wakes their
// sender. Of an error for which pgtx.Again is true nothing was kept.
func (w *Writer) write(ctx context.Context, s Service, u *work.Unit, a arrival) (clickResult, error) {
	if w.batcher.Isolated(u.OrgID) {
		return clickResult{}, pgtx.ErrRetryAlone
	}
	p := newPending(s, u, a)
	w.batcher.Add(p)
	select {
	case <-p.done:
		return p.click, p.err
	case <-ctx.Done(): // under way, it may be written all the same, as at any commit
		w.batcher.Remove(p)
		return clickResult{}, ctx.Err()
	}
}

// batch records visits and answers them.
func (w *Writer) batch(ctx context.Context, visits []*pending) {
	err := w.store(ctx, visits)
	var blame []*pending
	if pgtx.Again(err) {
		if w.batcher.Retried(len(visits)); len(visits) > 1 {
			blame = visits // it cannot be seen whose it was
		}
	}
	w.batcher.Done(visits, err == nil, blame...)
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

// store writes all valid visits in one transaction. A panic before the commit repeats in the request that
// records its visit alone.
func (w *Writer) store(ctx context.Context, visits []*pending) (err error) {
	tx := pgtx.Begin(w.pool)
	defer tx.Rollback()
	defer func() { // there is no request here to recover it
		if recover() != nil {
			err = pgtx.ErrRetryAlone
		}
	}()
	if err := w.put(ctx, tx, visits); err != nil {
		return share.RetryAlone(err)
	}
	if err := tx.Commit(ctx); err != nil {
		return share.RetryAlone(err)
	}
	for _, p := range visits {
		p.unit.Tx.CopyPosition(tx)
	}
	return nil
}

// put queues the writes of all visits for tx's commit.
func (w *Writer) put(ctx context.Context, tx *pgtx.Tx, visits []*pending) error {
	units, arrivals := make([]*work.Unit, len(visits)), make([]arrival, len(visits))
	for i, p := range visits {
		units[i], arrivals[i] = p.unit, p.arrival
	}
	hits, err := resolve(ctx, func(read pgtx.Read) error { return read(w.pool) }, units, arrivals)
	if err != nil {
		return err
	}
	if _, err := tx.Later().Exec(ctx, share.LockWait); err != nil {
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
		tx.CopyTrace(p.unit.Tx)
	}
	tx.Join(parts...)
	return nil
}
