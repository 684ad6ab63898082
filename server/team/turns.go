package team

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"rail/server/problem"
	"rail/server/team/attempt"
)

const (
	// hashesAtOnce bounds the memory and CPU that hashing uses.
	hashesAtOnce = 2
	// strangersAtOnce bounds the hashes for browsers without an earlier sign-in.
	strangersAtOnce = 1
	// waitingAtOnce bounds the waiting strangers of a network.
	waitingAtOnce = 16
	// patience is how long a hash waits for its turn.
	patience = 2 * time.Second
)

// errBusy refuses a request without a turn in time. It is not a 5xx, with which a flood of wrong passwords would
// fill the log.
var errBusy = &problem.Error{
	Code: problem.RateLimitExceeded, Message: "Many people are signing in. Try again in a moment.", RetryAfter: 1,
}

// turns decides whose password is hashed next. Known users go first, and have a place reserved for them;
// strangers take turns by network, so that many requests of one network delay another only by one.
type turns struct {
	mu               sync.Mutex
	known, strangers line
	busy, strange    int // running hashes, and those among them for strangers
}

// line holds the waiting requests in a queue for each key, and the keys in the order of their turns.
type line struct {
	keys    []string
	waiting map[string][]chan struct{}
}

// take waits until a password may be hashed for a key, and returns a function that ends the turn.
func (t *turns) take(ctx context.Context, key string, known bool, patience time.Duration) (func(), error) {
	own := make(chan struct{}, 1)
	if !t.enter(own, key, known) {
		return nil, errBusy
	}
	done := func() { t.end(known) }
	waiting := time.NewTimer(patience)
	defer waiting.Stop()
	var err error
	select {
	case <-own:
		return done, nil
	case <-waiting.C:
		err = errBusy
	case <-ctx.Done():
		err = ctx.Err()
	}
	if t.leave(own, key, known) {
		return nil, err
	}
	return done, nil // the turn came at the same moment
}

// enter adds a request to the line, unless too many of the key wait.
func (t *turns) enter(own chan struct{}, key string, known bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.line(known)
	if len(l.waiting[key]) >= waitingAtOnce {
		return false
	}
	l.add(own, key)
	t.next()
	return true
}

// leave removes a request from the line, and reports whether it was still there.
func (t *turns) leave(own chan struct{}, key string, known bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.line(known).remove(own, key)
}

// end ends a turn.
func (t *turns) end(known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.busy--
	if !known {
		t.strange--
	}
	t.next()
}

func (t *turns) line(known bool) *line {
	if known {
		return &t.known
	}
	return &t.strangers
}

// next assigns the free turns. The caller holds t.mu.
func (t *turns) next() {
	for t.busy < hashesAtOnce && t.known.give() {
		t.busy++
	}
	for t.busy < hashesAtOnce && t.strange < strangersAtOnce && t.strangers.give() {
		t.busy++
		t.strange++
	}
}

// add appends to the key's queue.
func (l *line) add(own chan struct{}, key string) {
	if l.waiting == nil {
		l.waiting = map[string][]chan struct{}{}
	}
	if len(l.waiting[key]) == 0 {
		l.keys = append(l.keys, key)
	}
	l.waiting[key] = append(l.waiting[key], own)
}

// give assigns a turn to the head of the first key's queue and moves the key behind the others.
func (l *line) give() bool {
	if len(l.keys) == 0 {
		return false
	}
	key := l.keys[0]
	first := l.waiting[key][0]
	l.remove(first, key)
	if len(l.waiting[key]) > 0 {
		l.keys = append(l.keys[1:], key)
	}
	first <- struct{}{}
	return true
}

// remove removes a request, and its key if that has no others.
func (l *line) remove(own chan struct{}, key string) bool {
	i := slices.Index(l.waiting[key], own)
	if i < 0 {
		return false
	}
	if l.waiting[key] = slices.Delete(l.waiting[key], i, i+1); len(l.waiting[key]) == 0 {
		delete(l.waiting, key)
		l.keys = slices.DeleteFunc(l.keys, func(k string) bool { return k == key })
	}
	return true
}

// wide returns the network by which strangers take turns: for IPv6 the largest block that an internet provider
// gives one customer.
func wide(from string) string {
	a, err := netip.ParseAddr(from)
	if err != nil || a.Unmap().Is4() {
		return attempt.Network(from)
	}
	return masked(a.WithZone(""), 48)
}
