package webhook

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/secret"
)

var queries = db.New()

const (
	// poll is how often the sender looks for work that nobody woke it for.
	poll = 250 * time.Millisecond
	// buryEvery is how often the leases of dead workers are taken from them.
	buryEvery = 500 * time.Millisecond
	// maxBusy bounds the endpoints that one sender sends to at once; each costs a
	// goroutine, so that a receiver which hangs slows no other.
	maxBusy = 512
	// writers is how many batches of results are written at once: while one waits
	// for the disk, the next one gathers and begins.
	writers = 2
	// ahead is how many deliveries of an endpoint are read at once.
	ahead = 16
	// heldFor is how long an event may wait for older transactions to end.
	heldFor = 10 * time.Second
	// renewAfter is when a lease of 30 seconds is renewed.
	renewAfter = 10 * time.Second
)

// after a wake, work is looked for soon and a few times: the event's transaction
// may have to wait for others that began before it.
var afterWake = []time.Duration{0, 5 * time.Millisecond, 20 * time.Millisecond, 80 * time.Millisecond}

// Options are what a sender works with.
type Options struct {
	Pool *pgxpool.Pool
	// Session is how to reach the database past a pooler of transactions; nil where
	// there is none. The lock that tells that this sender lives needs a session.
	Session *pgx.ConnConfig
	Keeper  *secret.Keeper
	Clock   clock.Clock
	Log     *slog.Logger
	Dial    Dial
	Service string // the product's name, for User-Agent
	// Disabled is told of an endpoint that was turned off for lasting failure, in
	// the transaction that does it; nil for nobody.
	Disabled func(ctx context.Context, tx db.DBTX, e db.WebhookEndpoint) error
}

// Sender delivers what waits. Any number of senders work on one database: each
// endpoint is leased to one of them at a time.
type Sender struct {
	Options
	owner   int64
	wake    chan struct{}
	slots   chan struct{}
	results chan result
	working sync.WaitGroup
	alive   atomic.Bool // the lock that tells so is held
}

// NewSender returns a sender; Run makes it work.
func NewSender(o Options) *Sender {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return &Sender{
		Options: o, owner: int64(binary.BigEndian.Uint64(b[:]) >> 1), //nolint:gosec // 63 bits
		wake: make(chan struct{}, 1), slots: make(chan struct{}, maxBusy), results: make(chan result),
	}
}

// Wake tells that events have been committed.
func (s *Sender) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Run delivers until ctx ends; attempts in flight are finished.
func (s *Sender) Run(ctx context.Context) {
	writing, stop := context.WithCancel(context.WithoutCancel(ctx))
	var writer sync.WaitGroup
	for range writers {
		writer.Go(func() { s.write(writing) })
	}
	var living sync.WaitGroup
	living.Go(func() { s.live(writing) }) // as long as anything is in flight
	s.look(ctx)
	s.working.Wait()
	stop()
	writer.Wait()
	living.Wait()
}

// look claims work when woken, and now and then.
func (s *Sender) look(ctx context.Context) {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		s.claim(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-s.wake:
			for _, d := range afterWake {
				select {
				case <-ctx.Done():
					return
				case <-time.After(d):
				}
				s.claim(ctx)
			}
		}
	}
}

// claim leases endpoints and gives each to a goroutine.
func (s *Sender) claim(ctx context.Context) {
	free := maxBusy - len(s.slots)
	if free == 0 || ctx.Err() != nil || !s.alive.Load() {
		return
	}
	now := s.Clock.Now()
	leases, err := queries.WebhookClaim(ctx, s.Pool, db.WebhookClaimParams{Owner: s.owner, Now: &now, HeldSince: now.Plus(-heldFor), Lim: int32(free)}) //nolint:gosec // at most maxBusy
	if err != nil && ctx.Err() == nil {
		s.Log.Error("webhooks: claim", "error", err)
	}
	for _, l := range leases {
		s.slots <- struct{}{}
		s.working.Go(func() {
			defer func() { <-s.slots }()
			s.work(ctx, lease{l.EndpointID, l.Token})
		})
	}
}

// live holds the lock that tells the others that this sender lives, and takes
// the leases of those that no longer do.
func (s *Sender) live(ctx context.Context) {
	for ctx.Err() == nil {
		if err := s.hold(ctx); err != nil && ctx.Err() == nil {
			s.Log.Error("webhooks: lock", "error", err)
			sleep(ctx, 50*time.Millisecond)
		}
	}
}

// hold keeps the lock on a connection of its own. Leases are taken only from
// owners that lacked their lock twice in a row: one that has lost its connection
// gets another at once.
func (s *Sender) hold(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, cmp.Or(s.Session, s.Pool.Config().ConnConfig))
	if err != nil {
		return err
	}
	defer s.alive.Store(false)
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the lock goes with the connection
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", s.owner); err != nil {
		return err
	}
	s.alive.Store(true)
	s.Wake()
	var suspects []int64
	for ctx.Err() == nil {
		absent, err := queries.WebhookAbsent(ctx, conn)
		if err != nil {
			return err
		}
		if slices.Contains(absent, s.owner) {
			return errLockLost
		}
		dead := slices.DeleteFunc(slices.Clone(absent), func(owner int64) bool { return !slices.Contains(suspects, owner) })
		if suspects = absent; len(dead) > 0 {
			if err := queries.WebhookBury(ctx, conn, dead); err != nil {
				return err
			}
			s.Wake()
		}
		sleep(ctx, buryEvery)
	}
	return nil
}

// errLockLost: a pooler has ended the session that held the lock behind it.
var errLockLost = errors.New("the session with the lock is gone: behind a pooler of transactions, set RAIL_DATABASE_SESSION_URL")

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
