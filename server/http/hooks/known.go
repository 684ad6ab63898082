package hooks

import (
	"context"
	"sync"
	"time"

	"rail/server/clock"
)

// cacheTTL is how long the list of active connections is cached.
const cacheTTL = time.Second

// known caches the ids of active connections. Requests for other ids query the database at most
// once a second.
type known struct {
	clock clock.Clock
	list  func(ctx context.Context) ([]string, error)
	mu    sync.Mutex
	at    clock.Time
	ids   map[string]bool
}

// has reports whether a connection is active. After an error it uses the old cache.
func (k *known) has(ctx context.Context, id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.clock.Now()
	if age := now.Sub(k.at.Time); k.ids[id] || age >= 0 && age < cacheTTL {
		return k.ids[id]
	}
	k.at = now
	ids, err := k.list(ctx)
	if err != nil {
		return false
	}
	k.ids = make(map[string]bool, len(ids))
	for _, one := range ids {
		k.ids[one] = true
	}
	return k.ids[id]
}
