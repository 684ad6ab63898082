package share

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// slowBatch is the duration after which a running batch no longer delays the next one.
const slowBatch = 50 * time.Millisecond

// Member is an element of a batch: a pointer to a struct that embeds Entry.
type Member interface {
	comparable
	entry() *Entry
}

// Entry is a member's state in a Batcher.
type Entry struct {
	Tenant string   // the tenant to isolate if the member makes its batches fail
	Names  []string // no two members that run at once may have the same name
	batch  *batch   // nil until it runs
	over   bool     // its batch has ended
}

func (e *Entry) entry() *Entry { return e }

// batch is a running batch.
type batch struct {
	counted int // its members in workers.members
	slow    *time.Timer
}

// Limits bounds the batches of a Batcher.
type Limits struct {
	Members     int // of one batch
	Batches     int // that run at once
	MinParallel int // the fewest members of a batch that starts while another runs
	Enough      int // members that start another batch at any load; 0 for Members
}

// Batcher groups concurrent work: while one batch runs, new members wait for the next, so
// that batches grow with the load. No batch waits for more members. A parallel batch
// starts when as many members wait as the running ones have, and at least half of the load; when
// Limits.Enough wait; or when the running ones are slow. The load is the recent peak of members
// that ran or waited at once.
// Members run in the order of their arrival, except that a member waits while another
// with one of its names runs or waits before it.
type Batcher[T Member] struct {
	members int // of one batch
	process func(ctx context.Context, members []T)

	mu        sync.Mutex
	workers   workers
	waiting   []T          // in the order of their arrival
	claimed   map[string]T // the running member that has a name
	penalties penalties
}

// NewBatcher returns a Batcher whose batches process runs, each within batchTimeout.
// Process must call Done once and answer each member, even after a panic.
func NewBatcher[T Member](l Limits, process func(ctx context.Context, members []T)) *Batcher[T] {
	return &Batcher[T]{
		members:   l.Members,
		process:   process,
		workers:   workers{max: l.Batches, minParallel: l.MinParallel, enough: cmp.Or(l.Enough, l.Members)},
		claimed:   map[string]T{},
		penalties: newPenalties(),
	}
}

// Isolated reports whether the tenant's next member must run alone, because earlier
// ones made their batches fail. Each call counts as one run.
func (b *Batcher[T]) Isolated(tenant string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.penalties.isolated(tenant)
}

// Add adds a member.
func (b *Batcher[T]) Add(m T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(m)
}

// add is Add for a caller that holds mu.
func (b *Batcher[T]) add(m T) {
	b.waiting = append(b.waiting, m)
	b.start()
}

// start starts another worker if enough members wait. The caller holds mu.
func (b *Batcher[T]) start() {
	if b.workers.start(len(b.waiting)) {
		go b.run()
	}
}

// Remove removes a waiting member, and reports whether it was waiting.
func (b *Batcher[T]) Remove(m T) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.waiting, m)
	if i < 0 {
		return false
	}
	b.waiting = slices.Delete(b.waiting, i, i+1)
	return true
}

// run is a worker: it processes batches until too few members wait.
func (b *Batcher[T]) run() {
	for members := b.next(); len(members) > 0; members = b.next() {
		ctx, cancel := context.WithTimeout(context.Background(), batchTimeout)
		b.process(ctx, members)
		cancel()
	}
}

// next begins a batch with the next members.
func (b *Batcher[T]) next() (members []T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.workers.tooFew(len(b.waiting)) { // else another worker processes them
		members = b.pick()
	}
	b.workers.begin(len(members), len(b.waiting))
	if len(members) == 0 {
		return nil
	}
	running := &batch{counted: len(members)}
	running.slow = time.AfterFunc(slowBatch, func() { b.expire(running) })
	for _, m := range members {
		m.entry().batch = running
	}
	return members
}

// pick removes the members of the next batch from the waiting members. A member does not
// overtake a waiting member that shares a name with it. The caller holds mu.
func (b *Batcher[T]) pick() (members []T) {
	blocked := map[string]bool{}
	stay := b.waiting[:0]
	for i, m := range b.waiting {
		if len(members) == b.members {
			stay = append(stay, b.waiting[i:]...)
			break
		}
		names := m.entry().Names
		behind := slices.ContainsFunc(names, func(name string) bool { return blocked[name] })
		if !behind && b.take(m, names) {
			members = append(members, m)
			continue
		}
		stay = append(stay, m)
		for _, name := range names {
			blocked[name] = true
		}
	}
	clear(b.waiting[len(stay):])
	b.waiting = stay
	return members
}

// take claims names for a member, unless another member has one of them. The caller
// holds mu.
func (b *Batcher[T]) take(m T, names []string) bool {
	for _, name := range names {
		if by, ok := b.claimed[name]; ok && by != m {
			return false
		}
	}
	for _, name := range names {
		b.claimed[name] = m
	}
	return true
}

// claim adds names to those of a member. It reports false if the member runs and another
// one has a name, or if its batch has ended.
func (b *Batcher[T]) claim(m T, names []string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := m.entry()
	if e.over || e.batch != nil && !b.take(m, names) {
		return false
	}
	e.Names = append(e.Names, names...)
	return true
}

// expire stops counting a slow batch, so that the waiting members may be enough for a
// parallel one.
func (b *Batcher[T]) expire(slow *batch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.workers.discount(slow)
	b.start()
}

// Done ends a batch and releases the names of its members; the caller answers the
// members afterwards. A tenant with a member among penalized twice in a row is isolated
// for a while. If the batch succeeded, the failures of the other tenants are reset.
func (b *Batcher[T]) Done(members []T, succeeded bool, penalized ...T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	failed := map[string]bool{}
	for _, m := range penalized {
		if tenant := m.entry().Tenant; !failed[tenant] {
			failed[tenant] = true
			b.penalties.penalize(tenant)
		}
	}
	batch := members[0].entry().batch
	batch.slow.Stop()
	b.workers.discount(batch)
	for _, m := range members {
		e := m.entry()
		e.over = true
		for _, name := range e.Names {
			delete(b.claimed, name)
		}
		if succeeded && !failed[e.Tenant] {
			b.penalties.reset(e.Tenant)
		}
	}
}

// Retried counts members that repeat their work alone.
func (b *Batcher[T]) Retried(members int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.workers.stats.Retries += uint64(members)
}

// Stats returns the counts of batches and members.
func (b *Batcher[T]) Stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.workers.stats
}
