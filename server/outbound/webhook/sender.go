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
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/secret"
	"rail/server/telemetry/outage"
	"rail/server/telemetry/tracing"
)

var queries = db.New()

const (
	// poll is the interval between checks for work without a wake.
	poll = 250 * time.Millisecond
	// buryEvery is the interval between checks for leases of dead workers.
	buryEvery = 500 * time.Millisecond
	// spacing is the minimum time between checks for work. The time is also at least four times the duration of the
	// last check, so that checks take at most a fifth of the time.
	spacing = 20 * time.Millisecond
	// extraChecks is the number of extra checks after a wake while an open transaction delays events.
	extraChecks = 4
	// maxBusy bounds the endpoints that one sender serves at once; each has a goroutine, so that a hanging receiver
	// delays no other. WebhookClaim distributes the places.
	maxBusy = 512
	// turn is how long a responsive endpoint keeps its place.
	turn = time.Second
	// quick is the maximum duration of an attempt for an endpoint to keep its place.
	quick = time.Second
	// writers is the number of batches of results written at once: while one waits for the disk, the next one fills.
	writers = 2
	// crowded is the number of busy places from which an organization may have reached its share: releasing a place
	// then triggers another check.
	crowded = maxBusy / 16
	// readAhead is the number of deliveries of an endpoint read at once.
	readAhead = 16
	// longestWait is how long later events of a program wait for an open transaction. The database ends an idle
	// transaction after the same time.
	longestWait = 10 * time.Second
)

// Options are the dependencies of a sender.
type Options struct {
	Pool *pgxpool.Pool
	// Session connects without the transaction pooler; nil if there is none. The lock that marks a live sender
	// belongs to a session.
	Session *pgx.ConnConfig
	Keeper  *secret.Keeper
	Clock   clock.Clock
	Log     *slog.Logger
	Dial    Dial
	Service string // the product's name, for User-Agent
	// Disabled, if not nil, is called when lasting failure disables an endpoint, in the same transaction.
	Disabled func(ctx context.Context, tx db.DBTX, e db.WebhookEndpoint) error
	// Registry gets the metrics; may be nil.
	Registry prometheus.Registerer
	// Tracer gets a span for each attempt; may be nil.
	Tracer *tracing.Tracer
}

// Sender delivers events to endpoints. Several senders can share one database: each endpoint is leased to one of
// them at a time.
type Sender struct {
	Options
	owner   int64
	wake    chan struct{}
	slots   chan struct{}
	results chan result
	horizon horizon
	working sync.WaitGroup
	alive   atomic.Bool // whether the liveness lock is held

	outcomes  *prometheus.CounterVec
	endpoints *outage.Log
	steps     *outage.Log // of the sender's own work
}

// NewSender returns a sender; Run starts it.
func NewSender(o Options) *Sender {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	s := &Sender{
		Options: o, owner: int64(binary.BigEndian.Uint64(b[:]) >> 1), // 63 bits
		wake: make(chan struct{}, 1), slots: make(chan struct{}, maxBusy), results: make(chan result),
		outcomes: promauto.With(o.Registry).NewCounterVec(prometheus.CounterOpts{
			Name: "rail_webhook_deliveries_total", Help: "Attempts to deliver an event, by outcome.",
		}, []string{"outcome"}),
		endpoints: outage.New(o.Log, o.Clock, "webhook endpoint", "endpoint"),
		steps:     outage.New(o.Log, o.Clock, "sending webhooks", "step"),
	}
	for _, outcome := range []db.DeliveryStatus{
		db.DeliveryStatusDelivered, db.DeliveryStatusRetrying, db.DeliveryStatusFailed,
	} {
		s.outcomes.WithLabelValues(string(outcome))
	}
	return s
}

// Wake triggers a check for work, as after a commit with events. It never blocks; concurrent wakes are merged.
func (s *Sender) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Run delivers until ctx ends, and finishes attempts in flight.
func (s *Sender) Run(ctx context.Context) {
	writing, stop := context.WithCancel(context.WithoutCancel(ctx))
	var writer sync.WaitGroup
	for range writers {
		writer.Go(func() { s.write(writing) })
	}
	var living sync.WaitGroup
	living.Go(func() { s.heartbeat(writing) }) // while anything is in flight
	s.claimLoop(ctx)
	s.working.Wait()
	stop()
	writer.Wait()
	living.Wait()
}

// claimLoop claims work when woken, and periodically.
func (s *Sender) claimLoop(ctx context.Context) {
	for left := 0; ; left-- {
		began := clock.Real()
		delayed := s.claim(ctx)
		rest := min(max(spacing, 4*time.Since(began)), poll)
		wait := poll
		if delayed && left > 0 {
			wait = rest
		}
		ended := clock.Real()
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		case <-s.wake:
			left = extraChecks + 1
			_ = clock.Wait(ctx, rest-time.Since(ended)) // claim concurrent wakes together
		}
	}
}

// claim leases endpoints and starts a goroutine for each. It takes half of the free places at a time, so that
// organizations with simultaneous events all get some. It reports whether open transactions delay events.
func (s *Sender) claim(ctx context.Context) (delayed bool) {
	free := maxBusy - len(s.slots)
	if free == 0 || ctx.Err() != nil || !s.alive.Load() {
		return false
	}
	h, err := s.settled(ctx, 0)
	var leases []db.WebhookClaimRow
	if err == nil {
		now := s.Clock.Now()
		p := db.WebhookClaimParams{
			Owner: s.owner, Unused: int64(free), Now: &now, Horizon: h.End, Lim: int32((free + 1) / 2),
		}
		p.Classes, p.Belows = h.Arrays()
		leases, err = queries.WebhookClaim(ctx, s.Pool, p)
	}
	if ctx.Err() == nil {
		s.steps.Note("claim", err)
	}
	for _, l := range leases {
		s.slots <- struct{}{}
		s.working.Go(func() {
			more := s.work(ctx, lease{l.EndpointID, l.Token})
			<-s.slots
			if more || len(s.slots) >= crowded {
				s.Wake()
			}
		})
	}
	// The claim was filled, so there may be more.
	if len(leases) == (free+1)/2 {
		s.Wake()
	}
	return len(h.Locks) > 0
}

// heartbeat holds the lock that marks this sender as alive, and releases the leases of dead senders.
func (s *Sender) heartbeat(ctx context.Context) {
	for ctx.Err() == nil {
		if err := s.keepLock(ctx); err != nil && ctx.Err() == nil {
			s.steps.Note("lock", err)
			_ = clock.Wait(ctx, 50*time.Millisecond)
		}
	}
}

// keepLock holds the lock on a separate connection until that breaks. It releases leases only of owners that
// lacked their lock twice in a row: a sender that lost its connection gets a new one at once.
func (s *Sender) keepLock(ctx context.Context) error {
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
	var missing []int64
	for ctx.Err() == nil {
		absent, err := queries.WebhookDeadOwners(ctx, conn)
		if err != nil {
			return err
		}
		if slices.Contains(absent, s.owner) {
			return errLockLost
		}
		dead := slices.DeleteFunc(slices.Clone(absent), func(owner int64) bool { return !slices.Contains(missing, owner) })
		s.steps.Note("lock", nil)
		if missing = absent; len(dead) > 0 {
			if err := queries.WebhookExpireLeases(ctx, conn, dead); err != nil {
				return err
			}
			s.Wake()
		}
		_ = clock.Wait(ctx, buryEvery)
	}
	return nil
}

// errLockLost means that a pooler ended the session with the lock.
var errLockLost = errors.New("the session with the lock has ended: behind a transaction pooler, " +
	"set RAIL_DATABASE_SESSION_URL")
