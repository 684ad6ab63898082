// Package backlog measures the queues in the database, for metrics and health checks.
package backlog

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/clock"
)

const (
	// Most bounds the count of a queue.
	Most = 10_000
	// readTimeout bounds the reading, so that the caller can report the rest.
	readTimeout = 2 * time.Second
	// cacheTTL is how long a result is reused, so that requests cannot load the database.
	cacheTTL = 5 * time.Second
)

// noPayouts has the states of payouts.
var noPayouts = map[db.PayoutStatus]int64{
	db.PayoutStatusPending: 0, db.PayoutStatusProcessing: 0, db.PayoutStatusPaid: 0, db.PayoutStatusFailed: 0,
	db.PayoutStatusNotEligible: 0,
}

// State is the backlog at a moment.
type State struct {
	db.BacklogRow

	Payouts map[db.PayoutStatus]int64
}

// Reader reads the backlog. Callers within five seconds get the same answer.
type Reader struct {
	pool  *pgxpool.Pool
	clock clock.Clock

	mu    sync.Mutex // held while reading, so that one caller reads
	at    time.Time
	state State
	err   error
}

// NewReader returns a reader, which reads on request.
func NewReader(pool *pgxpool.Pool, c clock.Clock) *Reader { return &Reader{pool: pool, clock: c} }

// Read returns the backlog. It answers within two seconds, with an error if the database does not.
func (r *Reader) Read(ctx context.Context) (State, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at.IsZero() || time.Since(r.at) > cacheTTL {
		r.state, r.err = r.read(ctx)
		r.at = clock.Real()
	}
	return r.state, r.err
}

func (r *Reader) read(ctx context.Context) (s State, err error) {
	// Other callers may wait for the same answer.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	queries := db.New()
	if s.BacklogRow, err = queries.Backlog(ctx, r.pool, db.BacklogParams{Now: r.clock.Now(), Lim: Most}); err != nil {
		return s, err
	}
	rows, err := queries.PayoutTotals(ctx, r.pool)
	s.Payouts = maps.Clone(noPayouts)
	for _, row := range rows {
		s.Payouts[db.PayoutStatus(row.Status)] = row.Total
	}
	return s, err
}
