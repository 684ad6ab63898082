package pgtx

import (
	"context"
	"slices"
	"sync"
	"time"
)

// late is after what time a trip no longer keeps those who wait from having one of
// their own: somebody in it, or the database, takes long.
const late = 50 * time.Millisecond

// Rider is what a Queue carries: a pointer to a struct that has a Ticket.
type Rider interface {
	comparable
	ticket() *Ticket
}

// Ticket is a rider's place in a Queue.
type Ticket struct {
	Tenant string   // who has a bad name if the rider costs the others their trip
	Names  []string // of what no two riders under way may have
	trip   *trip    // nil until it is under way
	over   bool     // it has been
}

func (t *Ticket) ticket() *Ticket { return t }

// trip is riders under way.
type trip struct {
	counted int // those of lanes.carried
	late    *time.Timer
}

// Limits bounds the trips of a Queue.
type Limits struct {
	Riders int // of one trip
	Trips  int // at once
	Beside int // the fewest riders of a trip that begins beside another
}

// Queue is where riders wait for one another: what requests want at the same moment is
// done together, trip by trip. No trip waits for more to come: while one is under way,
// those who come gather for the next, so that trips grow with the load. Another one begins
// beside it once as many wait as it carries, or when it is late. Riders go in the order in
// which they came, but those with a name of somebody who is under way, or who waits before
// them.
type Queue[T Rider] struct {
	riders int // of one trip
	carry  func(ctx context.Context, riders []T)

	mu      sync.Mutex
	lanes   lanes
	waiting []T          // in the order in which they came
	claimed map[string]T // by name, of those under way
	conduct conduct
}

// NewQueue returns a queue of which carry does a trip, in sharedTime. It must call Arrived,
// once, and answer each rider, whatever happens.
func NewQueue[T Rider](l Limits, carry func(ctx context.Context, riders []T)) *Queue[T] {
	return &Queue[T]{
		riders: l.Riders, carry: carry, lanes: lanes{most: l.Trips, beside: l.Beside},
		claimed: map[string]T{}, conduct: newConduct(),
	}
}

// Apart reports whether a tenant goes alone this time, as its riders have cost others
// their trips.
func (q *Queue[T]) Apart(tenant string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.conduct.alone(tenant)
}

// Join puts a rider into the queue.
func (q *Queue[T]) Join(r T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.join(r)
}

// join is Join of a caller who has mu.
func (q *Queue[T]) join(r T) {
	q.waiting = append(q.waiting, r)
	q.start()
}

// start begins one more trip if those who wait are worth it. The caller has mu.
func (q *Queue[T]) start() {
	if q.lanes.open(len(q.waiting)) {
		go q.run()
	}
}

// Quit takes a rider out of the queue again, and reports whether it was there.
func (q *Queue[T]) Quit(r T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, r)
	if i < 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return true
}

// run does trips until nobody waits, or too few for one beside another.
func (q *Queue[T]) run() {
	for riders := q.board(); len(riders) > 0; riders = q.board() {
		ctx, cancel := context.WithTimeout(context.Background(), sharedTime)
		q.carry(ctx, riders)
		cancel()
	}
}

// board begins a trip: it takes the next riders from the queue.
func (q *Queue[T]) board() (riders []T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.lanes.few(len(q.waiting)) { // else another goroutine carries them
		riders = q.next()
	}
	q.lanes.leave(len(riders))
	if len(riders) == 0 {
		return nil
	}
	t := &trip{counted: len(riders)}
	t.late = time.AfterFunc(late, func() { q.overdue(t) })
	for _, r := range riders {
		r.ticket().trip = t
	}
	return riders
}

// next takes those who go now from the queue: nobody overtakes one who has to stay for
// a name that both have. The caller has mu.
func (q *Queue[T]) next() (riders []T) {
	held := map[string]bool{}
	stay := q.waiting[:0]
	for i, r := range q.waiting {
		if len(riders) == q.riders {
			stay = append(stay, q.waiting[i:]...)
			break
		}
		names := r.ticket().Names
		ahead := slices.ContainsFunc(names, func(name string) bool { return held[name] })
		if !ahead && q.take(r, names) {
			riders = append(riders, r)
			continue
		}
		stay = append(stay, r)
		for _, name := range names {
			held[name] = true
		}
	}
	clear(q.waiting[len(stay):])
	q.waiting = stay
	return riders
}

// take gives a rider the names, if no other has one of them. The caller has mu.
func (q *Queue[T]) take(r T, names []string) bool {
	for _, name := range names {
		if by, ok := q.claimed[name]; ok && by != r {
			return false
		}
	}
	for _, name := range names {
		q.claimed[name] = r
	}
	return true
}

// claim adds names to those of a rider. It reports false for one under way if another
// has one of them, and for one that has arrived.
func (q *Queue[T]) claim(r T, names []string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := r.ticket()
	if t.over || t.trip != nil && !q.take(r, names) {
		return false
	}
	t.Names = append(t.Names, names...)
	return true
}

// overdue stops counting a trip that takes long: those who wait may be enough for one.
func (q *Queue[T]) overdue(t *trip) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lanes.discount(t)
	q.start()
}

// Arrived notes the end of a trip: others may have the names of its riders, who are to
// be answered after it if they have any. The tenants of those to blame go alone for a
// while if that happens twice in a row; if the trip went well, it is forgotten of the others.
func (q *Queue[T]) Arrived(riders []T, well bool, blame ...T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	bad := map[string]bool{}
	for _, r := range blame {
		if tenant := r.ticket().Tenant; !bad[tenant] {
			bad[tenant] = true
			q.conduct.blame(tenant)
		}
	}
	trip := riders[0].ticket().trip
	trip.late.Stop()
	q.lanes.discount(trip)
	for _, r := range riders {
		t := r.ticket()
		t.over = true
		for _, name := range t.Names {
			delete(q.claimed, name)
		}
		if well && !bad[t.Tenant] {
			q.conduct.forgive(t.Tenant)
		}
	}
}

// SentAway counts riders that do their work again, alone.
func (q *Queue[T]) SentAway(riders int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lanes.shared.Again += uint64(riders)
}

// Shared returns what has been shared so far.
func (q *Queue[T]) Shared() Shared {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.lanes.shared
}
