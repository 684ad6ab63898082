package pgtx

import (
	"context"
	"errors"
	"fmt"
	"iter"
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
	defer func() { // for the case of a panic
		for _, l := range lanes {
			if l != nil {
				l.stop()
			}
		}
	}()
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

// lane is one read, a coroutine: it runs until it asks for its statement, and goes on
// when it is handed the result.
type lane struct {
	stmt  statement
	asked bool // a statement waits in stmt
	rows  pgx.Rows
	err   error                // of the statement, then of the read
	yield func(statement) bool // gives the turn back
	next  func() (statement, bool)
	stop  func() // ends the read if it still waits
}

// start runs read until it asks for its statement, or ends without one.
func start(read Read) *lane {
	l := &lane{}
	l.next, l.stop = iter.Pull(func(yield func(statement) bool) {
		defer func() {
			if v := recover(); v != nil {
				l.err = fmt.Errorf("pgtx: a read panicked: %v\n%s", v, debug.Stack())
			}
		}()
		l.yield = yield
		l.err = read(l)
	})
	l.stmt, l.asked = l.next()
	return l
}

// finish hands the read its result and returns how it ended.
func (l *lane) finish(br pgx.BatchResults, failed error) error {
	if l.asked {
		if l.err = failed; failed == nil {
			l.rows, l.err = br.Query()
		}
		l.next()
	}
	return l.err
}

// Query hands the statement over and waits until its result has arrived.
func (l *lane) Query(_ context.Context, sql string, args ...any) (pgx.Rows, error) {
	if l.asked {
		return nil, errSecond
	}
	if !l.yield(statement{sql: sql, args: args}) {
		return nil, errDone // the read has ended, and something that it left behind asks
	}
	return l.rows, l.err
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
