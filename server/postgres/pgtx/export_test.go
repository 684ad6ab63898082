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
	return b.conduct.apart[tenant]
}

// Idle reports whether nothing is left of any rider.
func (b *Bus) Idle() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting) == 0 && len(b.claimed) == 0 && b.lanes.running == 0 && b.lanes.carried == 0 && b.alone == 0
}

// Waiting returns how many riders wait for the next batch.
func (r *Reads) Waiting() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.waiting)
}

// Apart returns how many reads of a tenant still go alone.
func (r *Reads) Apart(tenant string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.conduct.apart[tenant]
}

// Idle reports whether nothing is left of any rider.
func (r *Reads) Idle() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.waiting) == 0 && r.lanes.running == 0 && r.lanes.carried == 0 && r.active == 0
}
