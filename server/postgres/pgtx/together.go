package pgtx

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// errSecond is the error of a Read that runs more than one statement.
var errSecond = errors.New("pgtx: a read of Together runs more than one statement")

// Read is one of several reads that Together runs: it runs at most one statement on
// db.
type Read func(db DBTX) error

// Together runs reads in one round trip of the transaction, in order, each in its own
// snapshot. It returns the errors of the reads in their order.
func (t *Tx) Together(ctx context.Context, reads ...Read) []error {
	if t.done {
		return slices.Repeat([]error{errDone}, len(reads))
	}
	if t.slot != nil {
		return t.slot.Together(ctx, reads)
	}
	if err := t.take(ctx); err != nil {
		return slices.Repeat([]error{err}, len(reads))
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

// together runs each read up to its statement, sends all statements, and then resumes
// the reads one after the other as their results arrive. The first skip statements of b
// belong to the transaction; if one fails, every read gets the error.
func together(ctx context.Context, reads []Read, b *pgx.Batch, skip int,
	send func(context.Context, *pgx.Batch) pgx.BatchResults) []error {
	routines := make([]*coroutine, len(reads))
	defer func() { // in case of a panic
		for _, c := range routines {
			if c != nil {
				c.stop()
			}
		}
	}()
	for i, read := range reads {
		routines[i] = start(read)
		if routines[i].hasStmt {
			b.Queue(routines[i].stmt.sql, routines[i].stmt.args...)
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
	for i, c := range routines {
		errs[i] = c.finish(br, failed)
	}
	if err := br.Close(); err != nil && First(errs) == nil && len(errs) > 0 {
		errs[0] = err
	}
	return errs
}

// coroutine is one read: it runs until its statement, waits for the result, and then
// continues.
type coroutine struct {
	stmt    statement
	hasStmt bool // stmt is set
	rows    pgx.Rows
	err     error                // of the statement, then of the read
	yield   func(statement) bool // suspends the read
	next    func() (statement, bool)
	stop    func() // ends the read if it still waits
}

// start runs read until it asks for its statement, or ends without one.
func start(read Read) *coroutine {
	c := &coroutine{}
	c.next, c.stop = iter.Pull(func(yield func(statement) bool) {
		defer func() {
			if v := recover(); v != nil {
				c.err = fmt.Errorf("pgtx: a read panicked: %v\n%s", v, debug.Stack())
			}
		}()
		c.yield = yield
		c.err = read(c)
	})
	c.stmt, c.hasStmt = c.next()
	return c
}

// finish resumes the read with its result and returns the read's error.
func (c *coroutine) finish(br pgx.BatchResults, failed error) error {
	if c.hasStmt {
		if c.err = failed; failed == nil {
			c.rows, c.err = br.Query()
		}
		c.next()
	}
	return c.err
}

// Query suspends the read until the result of its statement has arrived.
func (c *coroutine) Query(_ context.Context, sql string, args ...any) (pgx.Rows, error) {
	if c.hasStmt {
		return nil, errSecond
	}
	if !c.yield(statement{sql: sql, args: args}) {
		return nil, errDone // the read has ended, but kept db
	}
	return c.rows, c.err
}

func (c *coroutine) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	rows, err := c.Query(ctx, sql, args...)
	return row{rows, err}
}

func (c *coroutine) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	rows, err := c.Query(ctx, sql, args...)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	rows.Close()
	return rows.CommandTag(), rows.Err()
}
