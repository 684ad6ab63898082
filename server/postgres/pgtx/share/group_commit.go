// Package share lets requests that run at the same moment share round trips and commits.
//
// A [GroupCommit] runs several requests in one transaction: it sends their reads in one batch, and their writes in
// another, together with one COMMIT. Equal INSERTs become one INSERT of several rows. Each request is answered after
// that commit, and none sees the writes of another. A request claims what only one of them may decide about, such as a
// charge ([pgtx.Tx.Claim]). When the shared transaction fails, it is rolled back, and each member repeats its work in
// a separate transaction ([pgtx.ErrRetryAlone]). When the connection is lost during the commit, the outcome is
// unknown, and each member gets that error.
//
// [Reads] sends short reads of requests without a transaction, such as look-ups by id, in one batch.
//
// Both group their work with a [Batcher], which also serves other work, such as writing clicks. [Nested] runs parts of
// one transaction as if they were requests that share it.
package share

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"rail/server/postgres/pgtx"
)

const (
	// maxMembers bounds the members of one shared transaction. More of them gain little,
	// and wait longer for the slowest.
	maxMembers = 64
	// enoughMembers is the number of waiting requests that begin another shared transaction. Measured: smaller ones cost
	// more than they gain, and larger ones wait while a core is idle.
	enoughMembers = 12
	// LockWait bounds how long shared writes wait for a lock that another transaction
	// holds, because all members wait with them.
	LockWait = "SET LOCAL lock_timeout = '100ms'"
	// readLimits bounds the locks and reads of a shared transaction. If a read takes
	// longer, all members repeat their work alone.
	readLimits = "SELECT set_config('lock_timeout', '100ms', true), set_config('statement_timeout', '1s', true)"
	// writeLimits restores the usual timeout for the writes and the commit.
	writeLimits = "SET LOCAL statement_timeout = '5s'"
	// batchTimeout bounds a batch with all its round trips. It equals the time limit of
	// one request: a shorter one would not help when the disk is slow.
	batchTimeout = 8 * time.Second
	// memberTimeout bounds how long a shared transaction waits for a member that works
	// between two statements, and how long a batch of short reads may take.
	memberTimeout = 250 * time.Millisecond
)

// GroupCommit runs transactions of concurrent requests as one: while one shared
// transaction runs, new requests gather for the next. When the server handles only one
// request, that request has its own transaction.
type GroupCommit struct {
	begin      func() *pgtx.Tx // begins the transaction to share
	first      []string        // statements that begin a shared transaction
	last       []string        // statements that precede its writes
	maxAlone   int             // transactions that may run alone while no batch runs
	sequential bool            // members work one after the other, in their order
	batcher    *Batcher[*slot]
	alone      int // transactions that run alone; guarded by batcher.mu
}

// NewGroupCommit returns a GroupCommit on pool. Up to maxAlone transactions run alone
// while no shared one runs: next to shared ones, a single transaction would cost as
// much as several members. At most workers shared transactions run at a time.
func NewGroupCommit(pool *pgxpool.Pool, maxAlone, workers int) *GroupCommit {
	g := newGroupCommit(func() *pgtx.Tx { return pgtx.Begin(pool) }, Limits{
		Members: maxMembers, Batches: workers, Enough: enoughMembers,
	})
	g.first, g.last, g.maxAlone = []string{readLimits}, []string{writeLimits}, maxAlone
	return g
}

func newGroupCommit(begin func() *pgtx.Tx, l Limits) *GroupCommit {
	g := &GroupCommit{begin: begin}
	g.batcher = NewBatcher(l, g.process)
	return g
}

// Begin returns a transaction that may be shared with others. Its work must read with
// Together, write with Later, and claim what only one member may decide about. Other
// work fails with an error for which pgtx.Again is true: the caller repeats it in a
// transaction of pgtx.Begin. Begin sends nothing. The caller must end the transaction
// with Commit or Rollback.
func (g *GroupCommit) Begin(tenant string) *pgtx.Tx {
	b := g.batcher
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.penalties.isolated(tenant):
		return g.begin()
	case g.alone < g.maxAlone && b.workers.running == 0:
		g.alone++
		tx := g.begin()
		tx.OnEnd(g.aloneEnded)
		return tx
	}
	return g.member(tenant, nil).tx
}

// Share returns a transaction like Begin that never runs alone. It reports false if the tenant is isolated.
func (g *GroupCommit) Share(tenant string) (*pgtx.Tx, bool) {
	if g.batcher.Isolated(tenant) {
		return nil, false
	}
	return g.member(tenant, nil).tx, true
}

// member returns the slot of a new transaction that shares another; outer is the
// transaction that contains the shared one, or nil.
func (g *GroupCommit) member(tenant string, outer *pgtx.Tx) *slot {
	s := &slot{Entry: Entry{Tenant: tenant}, commits: g, ended: make(chan struct{})}
	s.tx = pgtx.NewMember(s, outer)
	return s
}

// aloneEnded counts the end of a transaction that ran alone.
func (g *GroupCommit) aloneEnded() {
	g.batcher.mu.Lock()
	g.alone--
	g.batcher.mu.Unlock()
}

// sort sorts the waiting members of Nested by their order. The caller processes them
// itself and counts as a worker.
func (g *GroupCommit) sort() {
	b := g.batcher
	b.mu.Lock()
	defer b.mu.Unlock()
	slices.SortFunc(b.waiting, func(x, y *slot) int { return cmp.Compare(x.order, y.order) })
	b.workers.running++
}

// Stats returns the counts of shared transactions and their members.
func (g *GroupCommit) Stats() Stats { return g.batcher.Stats() }

// RetryAlone returns ErrRetryAlone if err proves that a shared transaction kept
// nothing, and err otherwise.
func RetryAlone(err error) error {
	if undone(err) {
		return pgtx.ErrRetryAlone
	}
	return err
}

// undone reports whether err proves that nothing was kept: the database has refused a
// statement, and still runs.
func undone(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.SeverityUnlocalized == "ERROR"
}

// exec queues statements for the next round trip of tx.
func exec(ctx context.Context, tx *pgtx.Tx, statements []string) {
	for _, sql := range statements {
		_, _ = tx.Later().Exec(ctx, sql) // fails only after the transaction has ended
	}
}
