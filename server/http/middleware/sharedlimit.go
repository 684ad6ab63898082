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
	// portion is the largest part of a bucket that a replica takes at once: an eighth. It takes one
	// token first, and doubles the number each time it has used them up, so that a busy key costs a
	// statement every few requests and a quiet one takes nothing from the other replicas.
	portion = 8
	// tokenTTL is how long a replica keeps unused tokens; older ones would let a burst exceed the
	// bucket.
	tokenTTL = time.Second
	// askTimeout bounds the wait for the database. After a failure each replica limits on its own,
	// for retryAfter.
	askTimeout = 250 * time.Millisecond
	retryAfter = time.Second
)

// sharedLimiter keeps one token bucket a key in the database, so that all replicas together enforce
// the key's limit.
type sharedLimiter struct {
	pool       *pgxpool.Pool
	clock      clock.Clock
	timeout    time.Duration
	local      *limiter     // used while the database does not answer
	failedAt   atomic.Int64 // when the database last failed, in microseconds
	mu         sync.Mutex
	allotments map[string]*allotment
}

// allotment is the part of one key's bucket that this replica has taken.
type allotment struct {
	mu     sync.Mutex
	tokens int       // taken but unused
	taken  int       // by the last statement
	left   float64   // in the bucket after that
	at     time.Time // of that statement
	empty  time.Time // the bucket has no token before
}

// newSharedLimiter returns a limiter that uses local while the database does not answer.
func newSharedLimiter(pool *pgxpool.Pool, c clock.Clock, local *limiter) *sharedLimiter {
	return &sharedLimiter{pool: pool, clock: c, timeout: askTimeout, local: local, allotments: map[string]*allotment{}}
}

// take takes one token of the key's bucket.
func (l *sharedLimiter) take(ctx context.Context, id string, limit int) (budget, bool) {
	h := l.allotment(id)
	h.mu.Lock()
	defer h.mu.Unlock()
	now := l.clock.Now()
	if age := now.Sub(h.at); age < 0 || age >= tokenTTL { // the clock may have been set back
		h.taken = (h.taken - h.tokens) / 2 // the used ones
		h.tokens, h.empty = 0, time.Time{}
	}
	if h.tokens == 0 && !now.Before(h.empty) {
		// Ask a failed database once a second, not once per request.
		if recent := now.UnixMicro() - l.failedAt.Load(); recent >= 0 && recent < retryAfter.Microseconds() {
			return l.local.take(id, limit)
		}
		if err := l.ask(ctx, h, id, limit, now); err != nil {
			l.failedAt.Store(l.clock.Now().UnixMicro())
			return l.local.take(id, limit)
		}
	}
	ok := h.tokens > 0
	if ok {
		h.tokens--
	}
	return h.budget(limit, now.Time), ok
}

// owe takes n more tokens for a large request, even below zero: the key waits longer for its next
// request on every replica.
func (l *sharedLimiter) owe(ctx context.Context, id string, limit, n int) {
	h := l.allotment(id)
	h.mu.Lock()
	defer h.mu.Unlock()
	unused := min(n, h.tokens)
	if h.tokens -= unused; n == unused {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.timeout)
	defer cancel()
	rest := n - unused
	if err := queries.RateDebit(ctx, l.pool, db.RateDebitParams{ID: id, Owed: float64(rest)}); err != nil {
		l.local.owe(id, limit, rest)
	}
	h.left -= float64(rest)
}

// allotment returns the allotment of a key. At maxBuckets it drops all, and with them the tokens
// taken here: at most those of a second.
func (l *sharedLimiter) allotment(id string) *allotment {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.allotments[id]
	if h == nil {
		if len(l.allotments) >= maxBuckets {
			clear(l.allotments)
		}
		h = &allotment{}
		l.allotments[id] = h
	}
	return h
}

// ask takes tokens out of the shared bucket. It continues after the end of the request, because a
// client's disconnect is no failure of the database.
func (l *sharedLimiter) ask(ctx context.Context, h *allotment, id string, limit int, now clock.Time) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.timeout)
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
		// The time of the next token; asking earlier is useless.
		h.empty = now.Add(time.Duration((1 - got.Tokens) / float64(limit) * float64(time.Second)))
	}
	return nil
}

// time returns nil to use the database's clock, which all replicas share, or the time of a test's
// clock.
func (l *sharedLimiter) time(now clock.Time) *clock.Time {
	if _, system := l.clock.(clock.System); system {
		return nil
	}
	return &now
}

// budget returns the key's budget as this replica knows it.
func (h *allotment) budget(limit int, now time.Time) budget {
	tokens := min(float64(limit), h.left+float64(h.tokens)+now.Sub(h.at).Seconds()*float64(limit))
	return budgetOf(limit, max(0, tokens), now)
}
