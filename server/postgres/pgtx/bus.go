package pgtx

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrAlone says that the work did not go together with others, and that nothing
// of it was kept. Again is true of it.
var ErrAlone = errors.New("pgtx: to be done again, in a transaction of its own")

const (
	// mostRiders bounds the riders of one transaction. More of them gain little,
	// and wait longer for the slowest.
	mostRiders = 64
	// LockWait bounds how long what is written together waits for a lock that somebody
	// outside has: it is what the others wait, too.
	LockWait = "SET LOCAL lock_timeout = '100ms'"
	// briefly bounds locks and reads of a shared transaction: whose read takes longer
	// does its work alone, as do those that waited for it. At length is what the writes
	// and the commit have, as everywhere.
	briefly  = "SELECT set_config('lock_timeout', '100ms', true), set_config('statement_timeout', '1s', true)"
	atLength = "SET LOCAL statement_timeout = '5s'"
	// sharedTime bounds what riders do together, with all its round trips: as long as
	// the work of one request may take, since nobody is helped by less where the disk
	// is slow.
	sharedTime = 8 * time.Second
	// patience is how long the others wait for a rider that works between two
	// statements, before they go on without it, and for the rows of short reads.
	patience = 250 * time.Millisecond
)

// Bus lets transactions of requests that run at the same moment become one: while one
// is under way, those who come gather for the next in a Queue. A request that is alone on
// the server has a transaction of its own.
type Bus struct {
	begin func() *Tx  // the transaction to share
	first []statement // of a shared transaction
	last  []statement // before its writes
	lone  int         // how many may go alone while nobody rides
	turns bool        // riders work one after the other, in their order
	queue *Queue[*seat]
	alone int // under way; its lock is the queue's
}

// NewBus returns a bus on pool. As long as no more than lone of its transactions
// are under way, each is one of its own: one beside those that share would cost
// as much as several of them. At most lanes are shared at a time.
func NewBus(pool *pgxpool.Pool, lone, lanes int) *Bus {
	b := newBus(func() *Tx { return Begin(pool) }, Limits{Riders: mostRiders, Trips: lanes})
	b.first, b.last, b.lone = []statement{{sql: briefly}}, []statement{{sql: atLength}}, lone
	return b
}

func newBus(begin func() *Tx, l Limits) *Bus {
	b := &Bus{begin: begin}
	b.queue = NewQueue(l, b.carry)
	return b
}

// Begin returns a transaction that may be shared with others. Its work must read
// with Together, write with Later, and claim what only one rider may decide
// about; work that does more fails, and Again is true of its error: it must be
// done once more in a transaction of Begin, the function. Begin sends nothing.
// The caller must end the transaction with Commit or Rollback.
func (b *Bus) Begin(tenant string) *Tx {
	q := b.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.conduct.alone(tenant):
		return b.begin()
	case b.alone < b.lone && q.lanes.running == 0:
		b.alone++
		tx := b.begin()
		tx.onDone = b.returned
		return tx
	}
	return b.rider(tenant)
}

// rider returns a transaction that shares another.
func (b *Bus) rider(tenant string) *Tx {
	tx := &Tx{}
	tx.seat = &seat{Ticket: Ticket{Tenant: tenant}, bus: b, tx: tx, off: make(chan struct{})}
	return tx
}

// returned ends a transaction that went alone.
func (b *Bus) returned() {
	b.queue.mu.Lock()
	b.alone--
	b.queue.mu.Unlock()
}

// sort puts the riders that Share has begun into their order, to be carried by
// the caller.
func (b *Bus) sort() {
	q := b.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	slices.SortFunc(q.waiting, func(x, y *seat) int { return cmp.Compare(x.order, y.order) })
	q.lanes.running++
}

// Shared returns what has been shared so far.
func (b *Bus) Shared() Shared { return b.queue.Shared() }

// Alone returns the error of those who shared a transaction that failed: if
// certainly nothing was kept, one of which Again is true.
func Alone(err error) error {
	if undone(err) {
		return ErrAlone
	}
	return err
}

// undone reports whether an error says for certain that nothing was kept: the
// database has refused a statement, and is still there.
func undone(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.SeverityUnlocalized == "ERROR"
}
