package pgtx

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// errAlone says that the work did not go together with others, and that nothing
// of it was kept. Again is true of it.
var errAlone = errors.New("pgtx: to be done again, in a transaction of its own")

const (
	// mostRiders bounds the riders of one transaction. More of them gain little,
	// and wait longer for the slowest.
	mostRiders = 64
	// LockWait bounds how long a shared transaction waits for a lock that somebody
	// outside has: it is what the others wait, too.
	LockWait = "SET LOCAL lock_timeout = '100ms'"
	// SharedTime bounds all round trips of a shared transaction together: as long as
	// the work of one request may take, since nobody is helped by less where the disk
	// is slow.
	SharedTime = 8 * time.Second
	// patience is how long the others wait for a rider that works between two
	// statements, before they go on without it, and for the rows of short reads.
	patience = 250 * time.Millisecond
)

// Bus lets transactions of requests that run at the same moment become one. It
// has no timer: while one shared transaction is under way, those who come gather
// for the next, so that it grows with the load, and a request that is alone on
// the server has a transaction of its own. Another one begins beside it once as many
// wait as it has riders.
type Bus struct {
	begin func() *Tx  // the transaction to share
	first []statement // of a shared transaction
	lone  int         // how many may go alone while nobody rides
	most  int         // riders of one
	turns bool        // riders work one after the other, in their order

	mu      sync.Mutex
	alone   int
	lanes   lanes
	waiting []*seat          // in the order in which they came
	claimed map[string]*seat // by name, of those under way
	conduct conduct
}

// NewBus returns a bus on pool. As long as no more than lone of its transactions
// are under way, each is one of its own: one beside those that share would cost
// as much as several of them. At most lanes are shared at a time.
func NewBus(pool *pgxpool.Pool, lone, lanes int) *Bus {
	b := newBus(func() *Tx { return Begin(pool) }, mostRiders)
	b.first, b.lone, b.lanes.most = []statement{{sql: LockWait}}, lone, lanes
	return b
}

func newBus(begin func() *Tx, most int) *Bus {
	return &Bus{begin: begin, most: most, claimed: map[string]*seat{}, conduct: newConduct()}
}

// Begin returns a transaction that may be shared with others. Its work must read
// with Together, write with Later, and claim what only one rider may decide
// about; work that does more fails, and Again is true of its error: it must be
// done once more in a transaction of Begin, the function. Begin sends nothing.
// The caller must end the transaction with Commit or Rollback.
func (b *Bus) Begin(tenant string) *Tx {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.conduct.alone(tenant):
		return b.begin()
	case b.alone < b.lone && b.lanes.running == 0:
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
	tx.seat = &seat{bus: b, tx: tx, tenant: tenant, off: make(chan struct{})}
	return tx
}

// returned ends a transaction that went alone.
func (b *Bus) returned() {
	b.mu.Lock()
	b.alone--
	b.mu.Unlock()
}

// blame notes that what riders of a tenant did together with others was undone.
func (b *Bus) blame(riders ...*seat) {
	b.mu.Lock()
	defer b.mu.Unlock()
	seen := map[string]bool{}
	for _, s := range riders {
		if !seen[s.tenant] {
			b.conduct.blame(s.tenant)
		}
		seen[s.tenant] = true
	}
}

// join puts a rider with its first wish into the queue.
func (b *Bus) join(s *seat) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s.joined = true
	b.waiting = append(b.waiting, s)
	if s.onJoin != nil {
		s.onJoin()
	}
	if b.lanes.open(len(b.waiting)) {
		go b.run(context.Background())
	}
}

// sort puts the riders that Share has begun into their order, to be carried by
// the caller.
func (b *Bus) sort() {
	b.mu.Lock()
	defer b.mu.Unlock()
	slices.SortFunc(b.waiting, func(x, y *seat) int { return cmp.Compare(x.order, y.order) })
	b.lanes.running++
}

// quit takes a rider out of the queue again, and reports whether it was there.
func (b *Bus) quit(s *seat) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.waiting, s)
	if i < 0 {
		return false
	}
	b.waiting = slices.Delete(b.waiting, i, i+1)
	return true
}

// run carries those who wait, group by group, until nobody does, or too few for
// another transaction beside one.
func (b *Bus) run(ctx context.Context) {
	for {
		seats := b.board()
		if len(seats) == 0 {
			return
		}
		b.carry(ctx, seats)
	}
}

// board takes the next riders from the queue. One with a claim of another stays
// for the next time.
func (b *Bus) board() []*seat {
	b.mu.Lock()
	defer b.mu.Unlock()
	var seats, stay []*seat
	few := b.lanes.few(len(b.waiting)) // another goroutine carries them
	for _, s := range b.waiting {
		if few || len(seats) == b.most || !b.take(s, s.claims) {
			stay = append(stay, s)
			continue
		}
		seats = append(seats, s)
	}
	b.waiting = stay
	b.lanes.leave(len(seats))
	return seats
}

// take gives a rider the names, if no other has one of them. The caller has mu.
func (b *Bus) take(s *seat, names []string) bool {
	for _, name := range names {
		if by := b.claimed[name]; by != nil && by != s {
			return false
		}
	}
	for _, name := range names {
		b.claimed[name] = s
	}
	return true
}

// claim adds names to those of a rider.
func (b *Bus) claim(s *seat, names []string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.joined && (s.over || !b.take(s, names)) {
		return errAlone
	}
	s.claims = append(s.claims, names...)
	return nil
}

// arrived gives up the claims of riders whose transaction has ended, and forgets
// the failures of those who brought theirs to its end.
func (b *Bus) arrived(seats []*seat, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lanes.carried -= len(seats)
	for _, s := range seats {
		s.over = true
		for _, name := range s.claims {
			delete(b.claimed, name)
		}
		if err == nil {
			b.conduct.forgive(s.tenant)
		}
	}
	if errors.Is(err, errAlone) {
		b.lanes.shared.Again += uint64(len(seats))
	}
}

// Shared returns what has been shared so far.
func (b *Bus) Shared() Shared {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lanes.shared
}

// Alone returns the error of those who shared a transaction that failed: if
// certainly nothing was kept, one of which Again is true.
func Alone(err error) error {
	if undone(err) {
		return errAlone
	}
	return err
}

// undone reports whether an error says for certain that nothing was kept: the
// database has refused a statement, and is still there.
func undone(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.SeverityUnlocalized == "ERROR"
}
