package pgtx

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// errSecond is returned to a function that runs more than one statement.
var errSecond = errors.New("pgtx: a function given to Together runs one statement")

// Read is one read of several that travel together: it runs at most one
// statement on db.
type Read func(db DBTX) error

// Together runs reads in one round trip of the transaction, in order, each in
// its own snapshot. It returns the errors of the reads in their order.
func (t *Tx) Together(ctx context.Context, reads ...Read) []error {
	if t.done {
		return repeat(errDone, len(reads))
	}
	if t.seat != nil {
		return t.seat.together(ctx, reads)
	}
	if err := t.take(ctx); err != nil {
		return repeat(err, len(reads))
	}
	b := t.opened()
	skip := b.Len()
	errs := together(ctx, reads, b, skip, t.conn.SendBatch)
	t.sent()
	return errs
}

// Together runs reads in one round trip outside of any transaction.
func Together(ctx context.Context, pool *pgxpool.Pool, reads ...Read) []error {
	return together(ctx, reads, &pgx.Batch{}, 0, pool.SendBatch)
}

// First returns the first error of several that is not pgx.ErrNoRows, or nil.
func First(errs []error) error {
	for _, err := range errs {
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
	}
	return nil
}

// together starts each read up to its statement, sends all statements, and then
// lets the reads go on one after the other as their results arrive. The first skip
// statements of b are the transaction's own; if one fails, every read gets the
// error.
func together(ctx context.Context, reads []Read, b *pgx.Batch, skip int,
	send func(context.Context, *pgx.Batch) pgx.BatchResults) []error {
	lanes := make([]*lane, len(reads))
	for i, read := range reads {
		lanes[i] = start(read)
		if lanes[i].asked {
			b.Queue(lanes[i].stmt.sql, lanes[i].stmt.args...)
		}
	}
	errs := make([]error, len(reads))
	br := send(ctx, b)
	failed := error(nil)
	for range skip {
		if _, err := br.Exec(); err != nil && failed == nil {
			failed = err
		}
	}
	for i, l := range lanes {
		errs[i] = l.finish(br, failed)
	}
	if err := br.Close(); err != nil && First(errs) == nil && len(errs) > 0 {
		errs[0] = err
	}
	return errs
}

// repeat returns err for each of n reads.
func repeat(err error, n int) []error {
	out := make([]error, n)
	for i := range out {
		out[i] = err
	}
	return out
}

// lane is one read, run in its own goroutine. Reads never run at the same time:
// the goroutine waits whenever it does not have its turn.
type lane struct {
	stmt  statement
	asked bool // a statement waits in stmt
	ask   chan statement
	rows  chan result
	done  chan error
	used  bool
}

// result is what a read gets for its statement.
type result struct {
	rows pgx.Rows
	err  error
}

// start runs read until it asks for its statement, or ends without one.
func start(read Read) *lane {
	l := &lane{ask: make(chan statement), rows: make(chan result), done: make(chan error, 1)}
	go func() {
		defer func() {
			if v := recover(); v != nil {
				l.done <- fmt.Errorf("pgtx: a read panicked: %v\n%s", v, debug.Stack())
			}
		}()
		l.done <- read(l)
	}()
	select {
	case l.stmt = <-l.ask:
		l.asked = true
	case err := <-l.done:
		l.done <- err
	}
	return l
}

// finish hands the read its result and waits for its end.
func (l *lane) finish(br pgx.BatchResults, failed error) error {
	if l.asked {
		r := result{err: failed}
		if failed == nil {
			r.rows, r.err = br.Query()
		}
		l.rows <- r
	}
	return <-l.done
}

// Query hands the statement over and waits until its result has arrived.
func (l *lane) Query(_ context.Context, sql string, args ...any) (pgx.Rows, error) {
	if l.used {
		return nil, errSecond
	}
	l.used = true
	l.ask <- statement{sql: sql, args: args}
	r := <-l.rows
	return r.rows, r.err
}

func (l *lane) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	rows, err := l.Query(ctx, sql, args...)
	return row{rows, err}
}

func (l *lane) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	rows, err := l.Query(ctx, sql, args...)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	rows.Close()
	return rows.CommandTag(), rows.Err()
}
