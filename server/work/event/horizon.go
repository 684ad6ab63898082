package event

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/postgres/pgtx"
)

// Horizon is the bound below which all events are known: a later snapshot shows no others below it
// (queries/events.sql, EventsInsert). Ids are drawn before the commit, so an event may become visible after
// others with higher ids.
type Horizon struct {
	// End bounds the events of every program.
	End int64
	// Locks belong to open transactions that have written events. They bound the events of programs in their class.
	Locks []Lock
}

// Lock is the lock of one transaction. Its events, of programs in Class, are all above Below.
type Lock struct {
	Class int32
	Below int64
}

// ReadHorizon reads the horizon in one round trip, on the primary, since a standby has no locks. End is read
// before the locks: numbers drawn in between are not below it.
func ReadHorizon(ctx context.Context, pool *pgxpool.Pool) (h Horizon, err error) {
	var drawn int64
	var locks []db.EventsLocksRow
	errs := pgtx.Together(ctx, pool,
		func(q pgtx.DBTX) (err error) { drawn, err = db.New().EventsLastNumber(ctx, q); return err },
		func(q pgtx.DBTX) (err error) { locks, err = db.New().EventsLocks(ctx, q); return err },
	)
	h.End = drawn + 1
	for _, l := range locks {
		// The difference fits 32 bits; numbers drawn since are negative, and above End.
		if since := int32(drawn) - l.Number; since >= 0 { // modulo 2^32 intended
			h.Locks = append(h.Locks, Lock{Class: l.Class, Below: drawn - int64(since)})
		}
	}
	return h, pgtx.First(errs)
}

// Lowest returns the bound for the events of all programs together.
func (h Horizon) Lowest() int64 {
	low := h.End
	for _, l := range h.Locks {
		low = min(low, l.Below)
	}
	return low
}

// Arrays returns the locks as arrays for queries.
func (h Horizon) Arrays() (classes []int32, belows []int64) {
	for _, l := range h.Locks {
		classes, belows = append(classes, l.Class), append(belows, l.Below)
	}
	return classes, belows
}
