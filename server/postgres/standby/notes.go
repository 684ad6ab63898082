package standby

import (
	"sync"

	"rail/server/postgres/pgtx"
)

// most bounds the keys with a position, about 100 bytes each. Further keys share one position.
const most = 50_000

// shared is the key of the shared position.
const shared = ""

// notes holds the positions of writes in the last MaxLag by key. A standby in use has replayed
// older ones.
type notes struct {
	mu         sync.Mutex
	young, old map[string]pgtx.Position
}

// put records the position of a key's write.
func (n *notes) put(who string, at pgtx.Position) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.young == nil {
		n.young = map[string]pgtx.Position{}
	}
	if _, ok := n.young[who]; !ok && len(n.young) >= most {
		who = shared
	}
	n.young[who] = n.young[who].Later(at)
}

// get returns the position that a standby must have reached for a key.
func (n *notes) get(who string) pgtx.Position {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.young[who].Later(n.old[who]).Later(n.young[shared]).Later(n.old[shared])
}

// age drops positions recorded before its previous call.
func (n *notes) age() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.young, n.old = nil, n.young
}
