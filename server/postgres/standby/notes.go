package standby

import (
	"sync"

	"rail/server/postgres/pgtx"
)

// most bounds the names of which positions are kept at a time, some 100 bytes each.
// Those beyond it share one.
const most = 50_000

// shared is the name of all who find no room.
const shared = ""

// notes are the positions of those who wrote in the last MaxLag. Older ones are not
// needed: a standby in use is not so far behind.
type notes struct {
	mu         sync.Mutex
	young, old map[string]pgtx.Position
}

// put notes a position of somebody.
func (n *notes) put(who string, at pgtx.Position) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.young == nil {
		n.young = map[string]pgtx.Position{}
	}
	if _, known := n.young[who]; !known && len(n.young) >= most {
		who = shared
	}
	n.young[who] = n.young[who].Later(at)
}

// get returns how far a standby must be for somebody.
func (n *notes) get(who string) pgtx.Position {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.young[who].Later(n.old[who]).Later(n.young[shared]).Later(n.old[shared])
}

// age forgets what was noted before it ran the last time.
func (n *notes) age() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.young, n.old = nil, n.young
}
