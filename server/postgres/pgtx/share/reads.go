package share

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"rail/server/postgres/pgtx"
)

// Reads sends short reads of concurrent requests as one batch on one connection: while
// one batch runs, new reads gather for the next. While few run, each goes alone.
//
// The reads share only the round trip. Each has its own snapshot and error, and waits no
// longer than its request. A read that fails is repeated alone, as are those behind it in
// the batch. A read that waits for a lock or takes longer than memberTimeout ends the
// batch and its connection.
type Reads struct {
	pool     *pgxpool.Pool
	maxAlone int // reads that may go alone at once
	batcher  *Batcher[*shortRead]
	active   int // reads that run or wait; guarded by batcher.mu
}

// NewReads returns Reads on pool. Up to maxAlone reads go alone; at most workers batches
// run at a time.
func NewReads(pool *pgxpool.Pool, maxAlone, workers int) *Reads {
	r := &Reads{pool: pool, maxAlone: maxAlone}
	r.batcher = NewBatcher(Limits{Members: maxMembers, Batches: workers}, r.process)
	return r
}

// For returns a DBTX for reads of a tenant. QueryRow is for short statements that change
// nothing: it runs when its row is scanned, with others, and may run twice. Query and
// Exec run alone.
func (r *Reads) For(tenant string) pgtx.DBTX { return tenantReads{r.pool, r, tenant} }

// tenantReads is the DBTX of For.
type tenantReads struct {
	*pgxpool.Pool

	reads  *Reads
	tenant string
}

// QueryRow returns a row that is read when it is scanned.
func (d tenantReads) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return &shortRead{Entry: Entry{Tenant: d.tenant}, reads: d.reads, ctx: ctx, sql: sql, args: args}
}

// shortRead is one short read. Its request and the batch's worker agree by taken on who
// uses dest: the worker does not write to it after the request has ended.
type shortRead struct {
	Entry

	reads *Reads
	ctx   context.Context //nolint:containedctx // pgx.Row has none in Scan
	sql   string
	args  []any
	dest  []any
	taken atomic.Bool
	done  chan struct{} // closed when err is set; nil for a read that goes alone
	err   error
}

// Scan reads the row, with others or alone.
func (s *shortRead) Scan(dest ...any) error {
	s.dest = dest
	defer s.reads.ended()
	if s.reads.join(s) {
		if err := s.wait(); !errors.Is(err, pgtx.ErrRetryAlone) {
			return err
		}
		s.reads.batcher.Retried(1)
	}
	return s.reads.pool.QueryRow(s.ctx, s.sql, s.args...).Scan(dest...)
}

// wait returns the result of a read in a batch, or the end of its request. The batch
// continues without it.
func (s *shortRead) wait() error {
	select {
	case <-s.done:
		return s.err
	case <-s.ctx.Done():
	}
	if s.reads.batcher.Remove(s) || s.taken.CompareAndSwap(false, true) {
		return s.ctx.Err()
	}
	<-s.done // the worker is scanning it
	return s.err
}

// join adds a read to the batcher, or reports false if it goes alone.
func (r *Reads) join(s *shortRead) bool {
	b := r.batcher
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.active++; r.active <= r.maxAlone || b.penalties.isolated(s.Tenant) {
		return false
	}
	s.done = make(chan struct{})
	b.add(s)
	return true
}

// ended counts the end of a read.
func (r *Reads) ended() {
	r.batcher.mu.Lock()
	r.active--
	r.batcher.mu.Unlock()
}

// Stats returns the counts of batches and reads.
func (r *Reads) Stats() Stats { return r.batcher.Stats() }

// process runs a batch. If no connection is free, each read repeats alone and waits for
// one; after a panic, each read without an answer repeats alone.
func (r *Reads) process(ctx context.Context, reads []*shortRead) {
	var failed []*shortRead
	succeeded := false
	defer func() {
		_ = recover() // it panics again in the request that reads alone
		r.batcher.Done(reads, succeeded, failed...)
		for _, s := range reads {
			s.retry()
		}
	}()
	conn, err := r.pool.Acquire(ctx)
	if err != nil {
		return
	}
	defer conn.Release()
	failed, succeeded = send(ctx, conn, reads)
}

// send sends reads in one batch and answers each with its row, up to the first error:
// the database skips the rest. It returns the read that the database refused, if any. A
// slow read cannot be identified, because all rows may arrive at the end.
func send(ctx context.Context, conn *pgxpool.Conn, reads []*shortRead) (failed []*shortRead, succeeded bool) {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	b := &pgx.Batch{}
	for _, s := range reads {
		b.Queue(s.sql, s.args...)
	}
	rows := conn.SendBatch(ctx, b)
	defer func() { _ = rows.Close() }() // every read has its answer
	for _, s := range reads {
		if err := s.take(rows); err != nil {
			if undone(err) {
				failed = append(failed, s)
			}
			return failed, false
		}
	}
	return nil, true
}

// take answers a read with its row. An error ends the whole batch; the read repeats
// alone.
func (s *shortRead) take(rows pgx.BatchResults) error {
	if !s.taken.CompareAndSwap(false, true) {
		_, err := rows.Exec()
		return err
	}
	err := scan(rows, s.dest)
	if err == nil || errors.Is(err, pgx.ErrNoRows) {
		s.answer(err)
		return nil
	}
	s.answer(pgtx.ErrRetryAlone)
	return err
}

// retry makes a read without an answer repeat alone.
func (s *shortRead) retry() {
	if s.taken.CompareAndSwap(false, true) {
		s.answer(pgtx.ErrRetryAlone)
	}
}

// answer ends a read that is taken.
func (s *shortRead) answer(err error) {
	s.err = err
	close(s.done)
}

// scan scans the next row of a batch. It turns the panic of a type's Scan method into an
// error: here it would end the process, in the read's own request it does not.
func scan(rows pgx.BatchResults, dest []any) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("share: a scan panicked: %v\n%s", v, debug.Stack())
		}
	}()
	return rows.QueryRow().Scan(dest...)
}
