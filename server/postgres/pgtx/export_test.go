package pgtx

// Waiting returns how many riders wait for the next trip.
func (q *Queue[T]) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// PutApart returns how often a tenant still goes alone.
func (q *Queue[T]) PutApart(tenant string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.conduct.apart[tenant]
}

// Idle reports whether nothing is left of any rider.
func (q *Queue[T]) Idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting) == 0 && len(q.claimed) == 0 && q.lanes.running == 0 && q.lanes.carried == 0
}

// Waiting returns how many riders wait for the next shared transaction.
func (b *Bus) Waiting() int { return b.queue.Waiting() }

// Apart returns how many transactions of a tenant still go alone.
func (b *Bus) Apart(tenant string) int { return b.queue.PutApart(tenant) }

// Idle reports whether nothing is left of any rider.
func (b *Bus) Idle() bool {
	b.queue.mu.Lock()
	alone := b.alone
	b.queue.mu.Unlock()
	return alone == 0 && b.queue.Idle()
}

// Waiting returns how many riders wait for the next batch.
func (r *Reads) Waiting() int { return r.queue.Waiting() }

// Apart returns how many reads of a tenant still go alone.
func (r *Reads) Apart(tenant string) int { return r.queue.PutApart(tenant) }

// Idle reports whether nothing is left of any rider.
func (r *Reads) Idle() bool {
	r.queue.mu.Lock()
	active := r.active
	r.queue.mu.Unlock()
	return active == 0 && r.queue.Idle()
}
