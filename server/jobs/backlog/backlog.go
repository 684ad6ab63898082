// Package backlog reads what waits in the database: for metrics, and for whoever asks how the server is.
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
	// Most is how far a queue is counted.
	Most = 10_000
	// patience bounds the reading: whoever asks has the rest to tell.
	patience = 2 * time.Second
	// fresh is how long what was read is told again, so that those who ask cannot load the database.
	fresh = 5 * time.Second
)

// noPayouts has what payouts may be.
var noPayouts = map[db.PayoutStatus]int64{
	db.PayoutStatusPending: 0, db.PayoutStatusProcessing: 0, db.PayoutStatusPaid: 0, db.PayoutStatusFailed: 0,
	db.PayoutStatusNotEligible: 0,
}

// State is what waited at a moment.
type State struct {
	db.BacklogRow

	Payouts map[db.PayoutStatus]int64
}

// Reader reads the backlog. Those who ask within five seconds get the same answer.
type Reader struct {
	pool  *pgxpool.Pool
	clock clock.Clock

	mu    sync.Mutex // held while it is read, so that it is read once
	at    time.Time
	state State
	err   error
}

// NewReader returns a reader, which reads when it is asked.
func NewReader(pool *pgxpool.Pool, c clock.Clock) *Reader { return &Reader{pool: pool, clock: c} }

// Read returns what waits. It answers within two seconds, with an error where the database does not.
func (r *Reader) Read(ctx context.Context) (State, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at.IsZero() || time.Since(r.at) > fresh {
		r.state, r.err = r.read(ctx)
		r.at = clock.Real()
	}
	return r.state, r.err
}

func (r *Reader) read(ctx context.Context) (s State, err error) {
	// Others may wait for the same answer.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
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
