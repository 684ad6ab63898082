package webhook

import (
	"context"
	"slices"
	"sync"
	"time"

	"rail/server/clock"
	"rail/server/work/event"
)

// maxHorizonAge is the maximum age of a horizon for a worker that reads deliveries up to it.
const maxHorizonAge = 5 * time.Millisecond

// horizon is the sender's last horizon, shared by its workers.
type horizon struct {
	mu   sync.Mutex
	at   time.Time // start of the read
	last event.Horizon
	seen map[event.Lock]time.Time // first time seen
}

// settled returns a horizon that was read at most age before the call. A transaction open for longer than
// longestWait no longer delays events: later events are sent before those it may still commit.
func (s *Sender) settled(ctx context.Context, age time.Duration) (event.Horizon, error) {
	start := clock.Real()
	h := &s.horizon
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.at.Before(start.Add(-age)) {
		return h.last, nil
	}
	at := clock.Real()
	last, err := event.ReadHorizon(ctx, s.Pool)
	if err != nil {
		return last, err
	}
	seen := map[event.Lock]time.Time{}
	for _, l := range last.Locks {
		seen[l] = at
		if before, ok := h.seen[l]; ok {
			seen[l] = before
		}
	}
	last.Locks = slices.DeleteFunc(last.Locks, func(l event.Lock) bool { return at.Sub(seen[l]) > longestWait })
	h.at, h.last, h.seen = at, last, seen
	return last, nil
}
