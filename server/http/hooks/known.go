package hooks

import (
	"context"
	"sync"
	"time"

	"rail/server/clock"
)

// stale is how old what is known of connections may be before it is asked for again.
const stale = time.Second

// known are the connections that take events, as they were lately. However many
// requests name others, the database is asked once a second.
type known struct {
	clock clock.Clock
	list  func(ctx context.Context) ([]string, error)
	mu    sync.Mutex
	at    clock.Time
	ids   map[string]bool
}

// has reports whether a connection takes events. Where that cannot be learned, what was
// known before counts.
func (k *known) has(ctx context.Context, id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.clock.Now()
	if age := now.Sub(k.at.Time); k.ids[id] || age >= 0 && age < stale {
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
