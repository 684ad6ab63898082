package middleware

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/clock"
)

const (
	// portion is the part of a bucket that a replica takes at once at most: an
	// eighth. It takes one token first, and twice as many each time that it has used
	// all up, so that a busy key costs a statement every few requests and a quiet one
	// keeps nothing from the other replicas.
	portion = 8
	// keptFor is how long a replica keeps tokens that it took; later they would let
	// a burst grow beyond the bucket.
	keptFor = time.Second
	// askPatience bounds the wait for the database; without it each replica limits
	// for itself, for awayFor.
	askPatience = 250 * time.Millisecond
	awayFor     = time.Second
)

// sharedLimiter keeps one token bucket a key for all replicas, in the database:
// they never let in more than the key's limit together.
type sharedLimiter struct {
	pool     *pgxpool.Pool
	clock    clock.Clock
	patience time.Duration
	alone    *limiter     // where the database does not answer
	away     atomic.Int64 // when the database did not answer, in microseconds
	mu       sync.Mutex
	mine     map[string]*allotment
}

// allotment is the part of one key's bucket that this replica has taken.
type allotment struct {
	mu     sync.Mutex
	tokens int       // taken and not used
	taken  int       // by the last question
	left   float64   // in the bucket, as it was
	at     time.Time // then
	empty  time.Time // until then there is surely no token
}

// newSharedLimiter returns the limiter; alone serves while the database is away.
func newSharedLimiter(pool *pgxpool.Pool, c clock.Clock, alone *limiter) *sharedLimiter {
	return &sharedLimiter{pool: pool, clock: c, patience: askPatience, alone: alone, mine: map[string]*allotment{}}
}

// take takes one token of the key's bucket.
func (l *sharedLimiter) take(ctx context.Context, id string, limit int) (budget, bool) {
	h := l.allotment(id)
	h.mu.Lock()
	defer h.mu.Unlock()
	now := l.clock.Now()
	if age := now.Sub(h.at); age < 0 || age >= keptFor { // a clock may be set back
		h.taken = (h.taken - h.tokens) / 2 // as many as were used
		h.tokens, h.empty = 0, time.Time{}
	}
	if h.tokens == 0 && !now.Before(h.empty) {
		// A database that is away is asked once a second, not once a request.
		if recent := now.UnixMicro() - l.away.Load(); recent >= 0 && recent < awayFor.Microseconds() {
			return l.alone.take(id, limit)
		}
		if err := l.ask(ctx, h, id, limit, now); err != nil {
			l.away.Store(l.clock.Now().UnixMicro())
			return l.alone.take(id, limit)
		}
	}
	ok := h.tokens > 0
	if ok {
		h.tokens--
	}
	return h.budget(limit, now.Time), ok
}

// owe takes n tokens more for a request that has turned out to be larger, also
// those that are not there: the key waits the longer for its next request, at
// any replica.
func (l *sharedLimiter) owe(ctx context.Context, id string, limit, n int) {
	h := l.allotment(id)
	h.mu.Lock()
	defer h.mu.Unlock()
	mine := min(n, h.tokens)
	if h.tokens -= mine; n == mine {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.patience)
	defer cancel()
	rest := n - mine
	if err := queries.RateOwe(ctx, l.pool, db.RateOweParams{ID: id, Owed: float64(rest)}); err != nil {
		l.alone.owe(id, limit, rest)
	}
	h.left -= float64(rest)
}

// allotment returns the allotment of a key. At the bound all are forgotten,
// which costs the keys the tokens that were taken here, a second's part at most.
func (l *sharedLimiter) allotment(id string) *allotment {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.mine[id]
	if h == nil {
		if len(l.mine) >= maxBuckets {
			clear(l.mine)
		}
		h = &allotment{}
		l.mine[id] = h
	}
	return h
}

// ask takes tokens out of the shared bucket. It does not end with the request: a
// client that went away says nothing about the database.
func (l *sharedLimiter) ask(ctx context.Context, h *allotment, id string, limit int, now clock.Time) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.patience)
	defer cancel()
	// Twice the last portion, up to an eighth of the bucket.
	want := max(1, min(2*h.taken, limit/portion))
	got, err := queries.RateTake(ctx, l.pool, db.RateTakeParams{
		ID: id, Size: float64(limit), Tokens: float64(limit - want), Granted: int64(want), At: l.time(now),
	})
	if err != nil {
		return err
	}
	h.tokens, h.taken, h.left, h.at, h.empty = int(got.Granted), want, got.Tokens, now.Time, time.Time{}
	if h.tokens == 0 {
		// When the first token will have flowed in; until then there is no use in
		// asking.
		h.empty = now.Add(time.Duration((1 - got.Tokens) / float64(limit) * float64(time.Second)))
	}
	return nil
}

// time returns nil for the database's own time, which all replicas share. A clock
// that is not the machine's, as in tests, is passed on.
func (l *sharedLimiter) time(now clock.Time) *clock.Time {
	if _, system := l.clock.(clock.System); system {
		return nil
	}
	return &now
}

// budget returns what the key may still do, as far as this replica knows.
func (h *allotment) budget(limit int, now time.Time) budget {
	there := min(float64(limit), h.left+float64(h.tokens)+now.Sub(h.at).Seconds()*float64(limit))
	return budgetOf(limit, max(0, there), now)
}
