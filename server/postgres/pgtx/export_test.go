package pgtx

// Waiting returns how many riders wait for the next shared transaction.
func (b *Bus) Waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting)
}

// Apart returns how many transactions of a tenant still go alone.
func (b *Bus) Apart(tenant string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.apart[tenant]
}

// Idle reports whether nothing is left of any rider.
func (b *Bus) Idle() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting) == 0 && len(b.claimed) == 0 && b.running == 0 && b.alone == 0
}
