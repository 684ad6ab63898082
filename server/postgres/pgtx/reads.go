package pgtx

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Reads lets short reads of requests that run at the same moment travel as one
// batch, on one connection: while one is under way, those who come gather for the
// next in a Queue. Where few are under way each goes alone.
//
// The trip is all that they share. Each read has a snapshot and an error of its own,
// and waits no longer than its request: one that fails is asked again alone, and so are
// those behind it. One that takes its time, or waits for a lock, ends the trip after a
// quarter of a second, and the connection with it.
type Reads struct {
	pool   *pgxpool.Pool
	lone   int // how many may go alone before others ride
	queue  *Queue[*short]
	active int // alone, waiting or carried; its lock is the queue's
}

// NewReads returns what short reads on pool travel with. As long as no more than
// lone are under way, each goes alone; at most lanes batches are sent at a time.
func NewReads(pool *pgxpool.Pool, lone, lanes int) *Reads {
	r := &Reads{pool: pool, lone: lone}
	r.queue = NewQueue(Limits{Riders: mostRiders, Trips: lanes}, r.carry)
	return r
}

// For returns what reads of a tenant run on. QueryRow is for statements that are
// known to be short and to change nothing: it asks when its row is scanned, with
// others, and may ask twice. Query and Exec go alone.
func (r *Reads) For(tenant string) DBTX { return shorts{r.pool, r, tenant} }

// shorts is the DBTX of For.
type shorts struct {
	*pgxpool.Pool

	reads  *Reads
	tenant string
}

// QueryRow returns a row that is asked for when it is scanned.
func (d shorts) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return &short{Ticket: Ticket{Tenant: d.tenant}, reads: d.reads, ctx: ctx, stmt: statement{sql: sql, args: args}}
}

// short is one short read. A rider and the goroutine that carries it settle by
// taken whose dest is: nobody writes to that of a request that is gone.
type short struct {
	Ticket

	reads *Reads
	ctx   context.Context //nolint:containedctx // pgx.Row has none in Scan
	stmt  statement
	dest  []any
	taken atomic.Bool
	done  chan struct{} // closed when err is set; nil unless it rides
	err   error
}

// Scan asks for the row, with others or alone.
func (s *short) Scan(dest ...any) error {
	s.dest = dest
	defer s.reads.returned()
	if s.reads.join(s) {
		if err := s.wait(); !errors.Is(err, ErrAlone) {
			return err
		}
		s.reads.queue.SentAway(1)
	}
	return s.reads.pool.QueryRow(s.ctx, s.stmt.sql, s.stmt.args...).Scan(dest...)
}

// wait returns the result of a rider, or the end of its request: those it travels
// with do not notice that it has gone.
func (s *short) wait() error {
	select {
	case <-s.done:
		return s.err
	case <-s.ctx.Done():
	}
	if s.reads.queue.Quit(s) || s.taken.CompareAndSwap(false, true) {
		return s.ctx.Err()
	}
	<-s.done // it is scanned at this moment
	return s.err
}

// join puts a read into the queue, or reports false for one that goes alone.
func (r *Reads) join(s *short) bool {
	q := r.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if r.active++; r.active <= r.lone || q.conduct.alone(s.Tenant) {
		return false
	}
	s.done = make(chan struct{})
	q.join(s)
	return true
}

// returned ends a read.
func (r *Reads) returned() {
	r.queue.mu.Lock()
	r.active--
	r.queue.mu.Unlock()
}

// Shared returns what has been shared so far.
func (r *Reads) Shared() Shared { return r.queue.Shared() }

// carry has riders travel, once there is a connection. Where there is none, each
// waits for one of its own, and so does each without an answer if something panics.
func (r *Reads) carry(ctx context.Context, riders []*short) {
	var bad []*short
	well := false
	defer func() {
		_ = recover() // it panics again in the request that asks alone
		r.queue.Arrived(riders, well, bad...)
		for _, s := range riders {
			s.leave()
		}
	}()
	conn, err := r.pool.Acquire(ctx)
	if err != nil {
		return
	}
	defer conn.Release()
	bad, well = travel(ctx, conn, riders)
}

// travel sends the reads of riders in one trip, and answers each as its row comes,
// up to the first error: the database skips what is behind it. It returns the rider
// whose read the database refused, if any. Whose took too long cannot be seen, as rows may
// come all at the end.
func travel(ctx context.Context, conn *pgxpool.Conn, riders []*short) (bad []*short, well bool) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	b := &pgx.Batch{}
	for _, s := range riders {
		b.Queue(s.stmt.sql, s.stmt.args...)
	}
	rows := conn.SendBatch(ctx, b)
	defer func() { _ = rows.Close() }() // every rider has its answer
	for _, s := range riders {
		if err := s.take(rows); err != nil {
			if undone(err) {
				bad = append(bad, s)
			}
			return bad, false
		}
	}
	return nil, true
}

// take answers a rider with its row. An error is that of the whole batch, and
// sends the rider away.
func (s *short) take(rows pgx.BatchResults) error {
	if !s.taken.CompareAndSwap(false, true) {
		_, err := rows.Exec()
		return err
	}
	err := scan(rows, s.dest)
	if err == nil || errors.Is(err, pgx.ErrNoRows) {
		s.answer(err)
		return nil
	}
	s.answer(ErrAlone)
	return err
}

// leave sends a rider away, to go alone.
func (s *short) leave() {
	if s.taken.CompareAndSwap(false, true) {
		s.answer(ErrAlone)
	}
}

// answer gives a rider that is taken its result.
func (s *short) answer(err error) {
	s.err = err
	close(s.done)
}

// scan scans the next row of a batch. A type that panics must not end the program,
// which it does not where its own request scans.
func scan(rows pgx.BatchResults, dest []any) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("pgtx: a scan panicked: %v\n%s", v, debug.Stack())
		}
	}()
	return rows.QueryRow().Scan(dest...)
}
