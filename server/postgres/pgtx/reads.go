package pgtx

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Reads lets short reads of requests that run at the same moment travel as one
// batch, on one connection. As a Bus, it has no timer: while one batch is under
// way, those who come gather for the next, and where few are under way each goes
// alone. Another one is sent beside it once as many wait as it carries.
//
// The trip is all that they share. Each read has a snapshot, a deadline and an
// error of its own: one that fails is asked again alone, and so are those behind
// it. One that takes its time, or waits for a lock, ends the trip after a quarter of
// a second, and the connection with it.
type Reads struct {
	pool *pgxpool.Pool
	lone int // how many may go alone before others ride

	mu      sync.Mutex
	active  int // alone, waiting or carried
	lanes   lanes
	waiting []*short // in the order in which they came
	conduct conduct
}

// NewReads returns what short reads on pool travel with. As long as no more than
// lone are under way, each goes alone; at most lanes batches are sent at a time.
func NewReads(pool *pgxpool.Pool, lone, lanes int) *Reads {
	r := &Reads{pool: pool, lone: lone, conduct: newConduct()}
	r.lanes.most = lanes
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
	return &short{reads: d.reads, tenant: d.tenant, ctx: ctx, stmt: statement{sql: sql, args: args}}
}

// short is one short read. A rider and the goroutine that carries it settle by
// taken whose dest is: nobody writes to that of a request that is gone.
type short struct {
	reads  *Reads
	tenant string
	ctx    context.Context //nolint:containedctx // pgx.Row has none in Scan
	stmt   statement
	dest   []any
	taken  atomic.Bool
	done   chan struct{} // closed when err is set; nil unless it rides
	err    error
}

// Scan asks for the row, with others or alone.
func (s *short) Scan(dest ...any) error {
	s.dest = dest
	defer s.reads.returned()
	if s.reads.join(s) {
		if err := s.wait(); !errors.Is(err, errAlone) {
			return err
		}
		s.reads.sentAway()
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
	if s.taken.CompareAndSwap(false, true) {
		return s.ctx.Err()
	}
	<-s.done // it is scanned at this moment
	return s.err
}

// join puts a read into the queue, or reports false for one that goes alone.
func (r *Reads) join(s *short) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.active++; r.active <= r.lone || r.conduct.alone(s.tenant) {
		return false
	}
	s.done = make(chan struct{})
	r.waiting = append(r.waiting, s)
	if r.lanes.open(len(r.waiting)) {
		go r.run(context.Background())
	}
	return true
}

// returned ends a read.
func (r *Reads) returned() {
	r.mu.Lock()
	r.active--
	r.mu.Unlock()
}

// sentAway notes a read that is asked again, alone.
func (r *Reads) sentAway() {
	r.mu.Lock()
	r.lanes.shared.Again++
	r.mu.Unlock()
}

// Shared returns what has been shared so far.
func (r *Reads) Shared() Shared {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lanes.shared
}

// run carries those who wait, batch by batch, until nobody does, or too few for
// another batch beside one.
func (r *Reads) run(ctx context.Context) {
	for riders := r.board(0); len(riders) > 0; riders = r.board(len(riders)) {
		r.carry(ctx, riders)
	}
}

// board takes the next riders from the queue, after some have arrived.
func (r *Reads) board(arrived int) []*short {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lanes.carried -= arrived
	n := min(len(r.waiting), mostRiders)
	if r.lanes.few(len(r.waiting)) {
		n = 0 // another goroutine carries them
	}
	r.lanes.leave(n)
	riders := r.waiting[:n:n]
	r.waiting = r.waiting[n:]
	return riders
}

// carry has riders travel, once there is a connection. Where there is none, each
// waits for one of its own.
func (r *Reads) carry(ctx context.Context, riders []*short) {
	ctx, cancel := context.WithTimeout(ctx, SharedTime)
	defer cancel()
	conn, err := r.pool.Acquire(ctx)
	if err != nil {
		for _, s := range riders {
			s.leave()
		}
		return
	}
	defer conn.Release()
	r.settle(riders, travel(ctx, conn, riders))
}

// travel sends the reads of riders in one trip, and answers each as its row comes.
// From the first error on they go alone: the database skips what is behind it. It
// returns the rider whose read has cost the others theirs, if any.
func travel(ctx context.Context, conn *pgxpool.Conn, riders []*short) (bad *short) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	b := &pgx.Batch{}
	for _, s := range riders {
		b.Queue(s.stmt.sql, s.stmt.args...)
	}
	rows := conn.SendBatch(ctx, b)
	var err error
	for _, s := range riders {
		if err != nil {
			s.leave()
			continue
		}
		if err = s.take(rows); undone(err) || err != nil && ctx.Err() != nil {
			bad = s
		}
	}
	_ = rows.Close() // every rider has its answer
	return bad
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
	s.answer(errAlone)
	return err
}

// leave sends a rider away, to go alone.
func (s *short) leave() {
	if s.taken.CompareAndSwap(false, true) {
		s.answer(errAlone)
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

// settle notes whose read has cost the others theirs, or that all went well.
func (r *Reads) settle(riders []*short, bad *short) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if bad != nil {
		r.conduct.blame(bad.tenant)
		return
	}
	for _, s := range riders {
		r.conduct.forgive(s.tenant)
	}
}
