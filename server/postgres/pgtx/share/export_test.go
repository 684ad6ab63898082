package share

// Waiting returns how many members wait for the next batch.
func (b *Batcher[T]) Waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting)
}

// Penalty returns how often a tenant still works alone.
func (b *Batcher[T]) Penalty(tenant string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.penalties.left[tenant]
}

// Idle reports whether no member waits or runs.
func (b *Batcher[T]) Idle() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting) == 0 && len(b.claimed) == 0 && b.workers.running == 0 && b.workers.members == 0
}

// Waiting returns how many members wait for the next shared transaction.
func (g *GroupCommit) Waiting() int { return g.batcher.Waiting() }

// Penalty returns how many transactions of a tenant still run alone.
func (g *GroupCommit) Penalty(tenant string) int { return g.batcher.Penalty(tenant) }

// Idle reports whether no transaction waits or runs.
func (g *GroupCommit) Idle() bool {
	g.batcher.mu.Lock()
	alone := g.alone
	g.batcher.mu.Unlock()
	return alone == 0 && g.batcher.Idle()
}

// Waiting returns how many reads wait for the next batch.
func (r *Reads) Waiting() int { return r.batcher.Waiting() }

// Penalty returns how many reads of a tenant still go alone.
func (r *Reads) Penalty(tenant string) int { return r.batcher.Penalty(tenant) }

// Idle reports whether no read waits or runs.
func (r *Reads) Idle() bool {
	r.batcher.mu.Lock()
	active := r.active
	r.batcher.mu.Unlock()
	return active == 0 && r.batcher.Idle()
}
