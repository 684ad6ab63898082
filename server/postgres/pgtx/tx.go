// Package pgtx is the transaction of one request, made to cost few round
// trips: BEGIN travels with the first statement, reads that do not depend on
// each other travel together, and writes wait for COMMIT and travel with it.
//
// Because a request reads first and puts all its writes off, several requests
// can share one transaction. A [Bus] lets them: its riders' reads travel in one
// trip, and their writes in another, with one COMMIT, in which equal INSERTs of
// several riders are one INSERT of several rows. Each is answered after that
// commit, and none sees what another writes. What only one of them may decide
// about, such as a charge, a rider claims ([Tx.Claim]); what says whether its work
// is to be done at all goes ahead of its reads ([Tx.Ahead]). Whatever goes wrong in
// such a transaction undoes it, and every rider does its work again, alone; where
// the connection is lost at the commit, nobody knows, and each gets that error.
//
// Requests that only read have no transaction. Short ones of the same moment, such
// as look-ups by an id, share trips all the same: [Reads]. Who goes with whom, and
// when, is the same for both, and for whatever else is done together: a [Queue].
package pgtx

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// rollbackTimeout bounds the clean-up of a transaction whose request is gone.
const rollbackTimeout = 5 * time.Second

// savepoint is where Undo returns to.
const savepoint = "SAVEPOINT work"

// errDone is returned by every call after Commit or Rollback.
var errDone = errors.New("pgtx: the transaction has ended")

// DBTX is what generated query code runs on.
type DBTX interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Tx is one transaction, or the part of one that a rider has. It is not safe for
// concurrent use.
type Tx struct {
	pool   *pgxpool.Pool
	conn   *pgxpool.Conn // nil until something is sent
	outer  *Tx           // of a nested transaction and of riders inside one, else nil
	seat   *seat         // of a rider, else nil
	begun  bool
	saved  bool // the savepoint has been sent
	done   bool
	later  []statement
	onDone func() // may be nil
	traced bool
	at     Position // of the commit, where it is traced
}

// statement is a statement that waits to be sent.
type statement struct {
	sql  string
	args []any
	rows [][]any // of an INSERT that stands for several: the arguments of each; else nil
}

// Begin sends nothing, and takes no connection until something is sent: what a
// request does before (a look-up of a name, say) keeps none. The caller must end
// the transaction with Commit or Rollback.
func Begin(pool *pgxpool.Pool) *Tx { return &Tx{pool: pool} }

// Begun reports whether anything has been sent or is to go ahead, also for what t is a
// part of.
func (t *Tx) Begun() bool {
	return t.begun || t.seat != nil && (t.seat.joined || t.seat.ahead != nil) || t.outer != nil && t.outer.Begun()
}

// nested returns a transaction inside t, which ends before t goes on. Undone, it
// leaves t as it was.
func (t *Tx) nested() *Tx { return &Tx{pool: t.pool, outer: t} }

// words returns the statements that begin, keep and undo the transaction.
func (t *Tx) words() (begin, keep, undo string) {
	if t.outer != nil {
		return "SAVEPOINT part", "RELEASE SAVEPOINT part", "ROLLBACK TO SAVEPOINT part"
	}
	return "BEGIN", "COMMIT", "ROLLBACK"
}

// take acquires a connection, once, and makes what waits ready to be sent on it.
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

// sent notes that what opened returned is on its way.
func (t *Tx) sent() {
	for ; t != nil; t = t.outer {
		t.begun = true
	}
}

// Trace has Commit ask for its position, which travels with it and costs no trip.
func (t *Tx) Trace() { t.traced = true }

// WriteFor has t ask for its position if another transaction, whose work it does, is
// traced, which Wrote then tells it.
func (t *Tx) WriteFor(other *Tx) { t.traced = t.traced || other.traced }

// Wrote notes what another transaction has committed for t.
func (t *Tx) Wrote(other *Tx) { t.at = t.at.Later(other.at) }

// Position is behind what a traced transaction has committed; the zero value where
// it had nothing to send.
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

// Query runs one statement now. Writes that wait are sent before it, so that it
// sees them.
func (t *Tx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if t.done {
		return nil, errDone
	}
	if t.seat != nil {
		return nil, ErrAlone
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

// Later returns a DBTX whose Exec keeps statements until the next read or the
// commit. Their results are not known: it is for writes that cannot refuse, or
// that a constraint refuses.
func (t *Tx) Later() DBTX { return deferred{t} }

// opened returns a batch that begins with what has not been sent yet.
func (t *Tx) opened() *pgx.Batch {
	b := &pgx.Batch{}
	if t.outer != nil {
		b = t.outer.opened()
	}
	if !t.begun {
		begin, _, _ := t.words()
		b.Queue(begin)
	}
	for _, s := range t.later {
		t.saved = t.saved || s.sql == savepoint
		b.Queue(s.sql, s.args...)
	}
	t.later = nil
	return b
}

// run sends a batch that ends with the commit, whose results do not matter but for
// their errors. Behind the commit comes the position, without which it stands, too.
func (t *Tx) run(ctx context.Context, b *pgx.Batch) error {
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
		_ = br.Close() // says the same of the position
		return nil
	}
	return br.Close()
}

// Commit sends the writes that wait together with COMMIT. A transaction that sent
// nothing costs nothing. After an error the transaction is rolled back.
func (t *Tx) Commit(ctx context.Context) error {
	if t.done {
		return errDone
	}
	if t.seat != nil {
		return t.seat.commit(ctx)
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
	_, keep, _ := t.words()
	b.Queue(keep)
	if err := t.run(ctx, b); err != nil {
		t.sent()
		t.Rollback()
		return err
	}
	err := t.replicated(ctx)
	t.release()
	return err
}

// Savepoint marks a place to which Undo returns. It travels with the next
// statement. A rider, whose writes all wait, needs none.
func (t *Tx) Savepoint() {
	if t.seat == nil {
		t.later = append(t.later, statement{sql: savepoint})
	}
}

// Undo drops the writes that wait and rolls back to Savepoint; the statement for
// that travels with the next one. If the savepoint was not sent, nothing is.
func (t *Tx) Undo() {
	t.later = nil
	if t.saved {
		t.later = append(t.later, statement{sql: "ROLLBACK TO SAVEPOINT work"})
	}
}

// Rollback ends the transaction and undoes it, also if the context of its request
// has ended. After Commit it does nothing.
func (t *Tx) Rollback() {
	if t.done {
		return
	}
	if t.seat != nil {
		t.seat.leave()
		return
	}
	if t.begun {
		ctx, cancel := context.WithTimeout(context.Background(), rollbackTimeout)
		defer cancel()
		_, _, undo := t.words()
		if _, err := t.conn.Exec(ctx, undo); err != nil {
			_ = t.conn.Conn().Close(ctx) // the pool replaces a closed connection
		}
	}
	t.release()
}

// release ends the transaction for this program and gives the connection back.
func (t *Tx) release() {
	t.done = true
	t.later = nil
	if t.conn != nil && t.outer == nil {
		t.conn.Release()
	}
	if t.onDone != nil {
		t.onDone()
	}
}

// deferred is the DBTX of Later.
type deferred struct{ tx *Tx }

var errDeferredRead = errors.New("pgtx: a read cannot be put off")

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
