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

// A payout rail fails if its last call failed, within RailMemory, and none has succeeded for RailPatience. Calls may be
// a day apart.
const (
	RailPatience = 10 * time.Minute
	RailMemory   = 25 * time.Hour
)

// noAttention has the states of payouts that a person should look at.
var noAttention = map[string]int64{
	string(db.PayoutAttentionUnclaimed):   0,
	string(db.PayoutAttentionOnHold):      0,
	string(db.PayoutAttentionReversed):    0,
	string(db.PayoutAttentionReturned):    0,
	string(db.PayoutAttentionNeedsFunds):  0,
	string(db.PayoutAttentionUnconfirmed): 0,
}

// State is the backlog at a moment.
type State struct {
	db.BacklogRow

	Payouts   map[db.PayoutStatus]int64
	Rails     db.PayoutRailStateRow
	Attention map[string]int64 // payouts by attention
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
	if err != nil {
		return s, err
	}
	s.Payouts = maps.Clone(noPayouts)
	for _, row := range rows {
		s.Payouts[db.PayoutStatus(row.Status)] = row.Total
	}
	return s, r.readRails(ctx, &s)
}

// readRails reads what payout rails have.
func (r *Reader) readRails(ctx context.Context, s *State) (err error) {
	queries, now := db.New(), r.clock.Now()
	s.Rails, err = queries.PayoutRailState(ctx, r.pool, db.PayoutRailStateParams{
		Now: now, CalledAfter: now.Plus(-RailMemory), Before: now.Plus(-RailPatience), Lim: Most,
	})
	if err != nil {
		return err
	}
	rows, err := queries.PayoutAttentionCounts(ctx, r.pool, Most)
	s.Attention = maps.Clone(noAttention)
	for _, row := range rows {
		s.Attention[row.Attention] = row.Total
	}
	return err
}
