package front

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/clock"
)

const (
	// portion is the part of a bucket that a replica takes at once: an eighth, so
	// that a busy key costs one statement every few requests.
	portion = 8
	// heldFor is how long a replica keeps tokens that it took; later they would let
	// a burst grow beyond the bucket.
	heldFor = time.Second
	// askTimeout bounds the wait for the database; without it each replica limits
	// for itself.
	askTimeout = 250 * time.Millisecond
)

// sharedLimiter keeps one token bucket a key for all replicas, in the database:
// never more than the key's limit is let in, whatever the number of replicas.
type sharedLimiter struct {
	pool  *pgxpool.Pool
	clock clock.Clock
	alone *limiter // where the database does not answer
	mu    sync.Mutex
	held  map[string]*holding
}

// holding is what this replica holds of one key's bucket.
type holding struct {
	mu     sync.Mutex
	tokens int       // taken and not used
	left   float64   // in the bucket, as it was
	at     time.Time // then
	empty  time.Time // until then there is surely no token
}

func newSharedLimiter(pool *pgxpool.Pool, c clock.Clock, alone *limiter) *sharedLimiter {
	return &sharedLimiter{pool: pool, clock: c, alone: alone, held: map[string]*holding{}}
}

// take takes one token of the key's bucket.
func (l *sharedLimiter) take(ctx context.Context, id string, limit int) (budget, bool) {
	h := l.holding(id)
	h.mu.Lock()
	defer h.mu.Unlock()
	now := l.clock.Now()
	if now.Sub(h.at) >= heldFor {
		h.tokens = 0
	}
	if h.tokens == 0 && !now.Before(h.empty) {
		if err := l.ask(ctx, h, id, limit, now); err != nil {
			return l.alone.take(id, limit)
		}
	}
	ok := h.tokens > 0
	if ok {
		h.tokens--
	}
	return h.budget(limit, now.Time), ok
}

func (l *sharedLimiter) holding(id string) *holding {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.held[id]
	if h == nil {
		if len(l.held) >= maxBuckets {
			clear(l.held)
		}
		h = &holding{}
		l.held[id] = h
	}
	return h
}

// ask takes a portion out of the shared bucket.
func (l *sharedLimiter) ask(ctx context.Context, h *holding, id string, limit int, now clock.Time) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	want := max(1, limit/portion)
	got, err := queries.RateTake(ctx, l.pool, db.RateTakeParams{ID: id, Size: float64(limit), Tokens: float64(limit - want), Granted: int64(want), At: now})
	if err != nil {
		return err
	}
	h.tokens, h.left, h.at, h.empty = int(got.Granted), got.Tokens, now.Time, time.Time{}
	if h.tokens == 0 {
		h.empty = now.Add(time.Duration((1 - got.Tokens) / float64(limit) * float64(time.Second)))
	}
	return nil
}

// budget tells what the key may still do, as far as this replica knows.
func (h *holding) budget(limit int, now time.Time) budget {
	there := min(float64(limit), h.left+float64(h.tokens)+now.Sub(h.at).Seconds()*float64(limit))
	return budgetOf(limit, there, now)
}
