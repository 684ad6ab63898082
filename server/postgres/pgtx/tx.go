// Package pgtx runs one request's transaction in few round trips: it sends BEGIN with the
// first statement, independent reads together, and all writes with COMMIT.
//
// A request that reads first and queues its writes can share a transaction with other
// requests: package share does that. The work of such a request differs in three ways.
// It claims what only one member may decide about ([Tx.Claim]). Reads that decide whether
// the work is done at all run first ([Tx.Precheck]). And it may fail with
// [ErrRetryAlone], after which the caller repeats it in a transaction of [Begin].
package pgtx

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// rollbackTimeout bounds a rollback, which runs even if its request has ended.
const rollbackTimeout = 5 * time.Second

// savepoint is the statement that Savepoint queues.
const savepoint = "SAVEPOINT work"

// errDone is returned by every call after Commit or Rollback.
var errDone = errors.New("pgtx: the transaction has ended")

// DBTX runs the statements of generated query code.
type DBTX interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Tx is one transaction, or a member's part of a shared one. It is not safe for
// concurrent use.
type Tx struct {
	pool   *pgxpool.Pool
	conn   *pgxpool.Conn // nil until something is sent
	outer  *Tx           // the transaction that contains this one, or nil
	slot   Slot          // of a member of a shared transaction, or nil
	begun  bool
	saved  bool // the savepoint has been sent
	done   bool
	later  []statement
	onEnd  func() // may be nil
	traced bool
	at     Position // of the commit, if traced
}

// statement is a statement that waits to be sent.
type statement struct {
	sql  string
	args []any
	rows [][]any // the arguments of each INSERT that this one merges, or nil
}

// Begin returns a transaction. It sends nothing and takes no connection until the first
// statement, so that earlier work of the request, such as a DNS look-up, holds none. The
// caller must end the transaction with Commit or Rollback.
func Begin(pool *pgxpool.Pool) *Tx { return &Tx{pool: pool} }

// Begun reports whether t or a transaction that contains it has sent a statement or has
// prechecks.
func (t *Tx) Begun() bool {
	return t.begun || t.slot != nil && t.slot.Begun() || t.outer != nil && t.outer.Begun()
}

// statements returns the statements that begin, commit and roll back the transaction.
func (t *Tx) statements() (begin, commit, rollback string) {
	if t.outer != nil {
		return "SAVEPOINT part", "RELEASE SAVEPOINT part", "ROLLBACK TO SAVEPOINT part"
	}
	return "BEGIN", "COMMIT", "ROLLBACK"
}

// take acquires a connection, once, and prepares the queued writes for it.
func (t *Tx) take(ctx context.Context) (err error) {
	switch {
	case t.outer != nil:
		err = t.outer.take(ctx)
		t.conn = t.outer.conn
	case t.conn == nil:
		t.conn, err = t.pool.Acquire(ctx)
	}
	if err != nil {
		return err
	}
	t.later, err = unnest(ctx, t.conn.Conn(), t.later)
	return err
}

// sent records that the batch of opened has been sent.
func (t *Tx) sent() {
	for ; t != nil; t = t.outer {
		t.begun = true
	}
}

// Trace makes Commit read the position behind it, in the same round trip.
func (t *Tx) Trace() { t.traced = true }

// CopyTrace traces t if member, whose writes t commits, is traced.
func (t *Tx) CopyTrace(member *Tx) { t.traced = t.traced || member.traced }

// CopyPosition sets the position of t to that of a transaction that committed its
// writes.
func (t *Tx) CopyPosition(committed *Tx) { t.at = t.at.Later(committed.at) }

// Position returns the position behind the commit of a traced transaction, or the zero
// value if it sent nothing.
func (t *Tx) Position() Position { return t.at }

// Exec runs one statement now.
func (t *Tx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	rows, err := t.Query(ctx, sql, args...)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	rows.Close()
	return rows.CommandTag(), rows.Err()
}

// Query runs one statement now. Queued writes are sent before it, so that it sees
// them.
func (t *Tx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if t.done {
		return nil, errDone
	}
	if t.slot != nil {
		return nil, ErrRetryAlone
	}
	if err := t.take(ctx); err != nil {
		return nil, err
	}
	if t.begun && len(t.later) == 0 {
		return t.conn.Query(ctx, sql, args...)
	}
	b := t.opened()
	b.Queue(sql, args...)
	skip := b.Len() - 1
	br := t.conn.SendBatch(ctx, b)
	for range skip {
		if _, err := br.Exec(); err != nil {
			t.sent()
			_ = br.Close() // the statement's own error says more
			return nil, err
		}
	}
	t.sent()
	rows, err := br.Query()
	if err != nil {
		_ = br.Close() // the statement's own error says more
		return nil, err
	}
	return &batchRows{Rows: rows, batch: br}, nil
}

// QueryRow runs one statement now and keeps its first row.
func (t *Tx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	rows, err := t.Query(ctx, sql, args...)
	return row{rows, err}
}

// Later returns a DBTX whose Exec queues statements until the next read or the commit.
// Exec returns no results: it is for writes that cannot fail, or that only a constraint
// refuses.
func (t *Tx) Later() DBTX { return deferred{t} }

// opened returns a batch that begins with BEGIN, unless it was sent, and the queued
// writes.
func (t *Tx) opened() *pgx.Batch {
	b := &pgx.Batch{}
	if t.outer != nil {
		b = t.outer.opened()
	}
	if !t.begun {
		begin, _, _ := t.statements()
		b.Queue(begin)
	}
	for _, s := range t.later {
		t.saved = t.saved || s.sql == savepoint
		b.Queue(s.sql, s.args...)
	}
	t.later = nil
	return b
}

// send sends a batch that ends with the commit, and returns its first error. If the
// transaction is traced, the position follows; the commit is valid without it.
func (t *Tx) send(ctx context.Context, b *pgx.Batch) error {
	n := b.Len()
	if t.traced {
		b.Queue(PositionSQL)
	}
	br := t.conn.SendBatch(ctx, b)
	for range n {
		if _, err := br.Exec(); err != nil {
			_ = br.Close() // repeats the same error
			return err
		}
	}
	if t.traced {
		t.at = Unknown
		if br.QueryRow().Scan(&t.at.Timeline, &t.at.LSN) != nil {
			t.at = Unknown
		}
		_ = br.Close() // repeats an error of the position
		return nil
	}
	return br.Close()
}

// Commit sends the queued writes together with COMMIT. It sends nothing if nothing was
// sent or queued. After an error the transaction is rolled back.
func (t *Tx) Commit(ctx context.Context) error {
	if t.done {
		return errDone
	}
	if t.slot != nil {
		defer t.release()
		return t.slot.Commit(ctx)
	}
	if !t.begun && len(t.later) == 0 {
		t.release()
		return nil
	}
	if err := t.take(ctx); err != nil {
		t.Rollback()
		return err
	}
	b := t.opened()
	_, commit, _ := t.statements()
	b.Queue(commit)
	if err := t.send(ctx, b); err != nil {
		t.sent()
		t.Rollback()
		return err
	}
	err := t.replicated(ctx)
	t.release()
	return err
}

// Savepoint marks the place to which Undo returns. It is sent with the next statement.
// A member of a shared transaction, whose writes are all queued, needs none.
func (t *Tx) Savepoint() {
	if t.slot == nil {
		t.later = append(t.later, statement{sql: savepoint})
	}
}

// Undo drops the queued writes and rolls back to Savepoint; that statement is sent with
// the next one. If the savepoint was not sent, Undo sends nothing.
func (t *Tx) Undo() {
	t.later = nil
	if t.saved {
		t.later = append(t.later, statement{sql: "ROLLBACK TO SAVEPOINT work"})
	}
}

// Rollback ends the transaction and undoes it, even if the context of its request has
// ended. After Commit it does nothing.
func (t *Tx) Rollback() {
	if t.done {
		return
	}
	if t.slot != nil {
		t.later = nil
		t.slot.Rollback()
		t.release()
		return
	}
	if t.begun {
		ctx, cancel := context.WithTimeout(context.Background(), rollbackTimeout)
		defer cancel()
		_, _, rollback := t.statements()
		if _, err := t.conn.Exec(ctx, rollback); err != nil {
			_ = t.conn.Conn().Close(ctx) // the pool replaces a closed connection
		}
	}
	t.release()
}

// release marks the transaction as ended and returns its connection to the pool.
func (t *Tx) release() {
	t.done = true
	t.later = nil
	if t.conn != nil && t.outer == nil {
		t.conn.Release()
	}
	if t.onEnd != nil {
		t.onEnd()
	}
}

// deferred is the DBTX of Later.
type deferred struct{ tx *Tx }

var errDeferredRead = errors.New("pgtx: a read cannot be queued")

func (d deferred) Exec(_ context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if d.tx.done {
		return pgconn.CommandTag{}, errDone
	}
	d.tx.later = append(d.tx.later, statement{sql: sql, args: args})
	return pgconn.CommandTag{}, nil
}

func (d deferred) Query(context.Context, string, ...any) (pgx.Rows, error) {
	return nil, errDeferredRead
}

func (d deferred) QueryRow(context.Context, string, ...any) pgx.Row {
	return row{err: errDeferredRead}
}
