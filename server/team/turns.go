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
	// hashesAtOnce bounds the memory and the processors that hashing takes of a server.
	hashesAtOnce = 2
	// strangersAtOnce are those of them that browsers may have in which nobody has signed in.
	strangersAtOnce = 1
	// waitingAtOnce bounds the strangers of a network who wait.
	waitingAtOnce = 16
	// patience is how long a hash waits for its turn.
	patience = 2 * time.Second
)

// errBusy refuses who has not got a turn in time. It is no 5xx, which a flood of wrong passwords
// would fill the log with.
var errBusy = &problem.Error{
	Code: problem.RateLimitExceeded, Message: "One moment: many people are signing in. Try again.", RetryAfter: 1,
}

// turns says whose password is hashed next. People whom the server knows go first, and have a
// place that no stranger takes; strangers take turns by their networks, so that many requests
// of one delay the others by one.
type turns struct {
	mu               sync.Mutex
	known, strangers line
	busy, strange    int // hashes at work, and those of them for strangers
}

// line are those who wait, in a queue for each key, and the keys in the order of their turns.
type line struct {
	keys    []string
	waiting map[string][]chan struct{}
}

// take waits until a password may be hashed for a key, and returns what ends the turn.
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
	return done, nil // the turn came in the same moment
}

// enter puts somebody in the line, unless too many of the key wait.
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

// leave takes somebody out of the line, and reports whether they were still in it.
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

// next gives the turns that are free. The caller holds t.mu.
func (t *turns) next() {
	for t.busy < hashesAtOnce && t.known.give() {
		t.busy++
	}
	for t.busy < hashesAtOnce && t.strange < strangersAtOnce && t.strangers.give() {
		t.busy++
		t.strange++
	}
}

// add puts somebody at the end of the key's queue.
func (l *line) add(own chan struct{}, key string) {
	if l.waiting == nil {
		l.waiting = map[string][]chan struct{}{}
	}
	if len(l.waiting[key]) == 0 {
		l.keys = append(l.keys, key)
	}
	l.waiting[key] = append(l.waiting[key], own)
}

// give gives the first key's first a turn; the rest of the key wait behind the other keys.
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

// remove takes somebody out, and the key with the last of it.
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

// wide is the network by which strangers take turns: of IPv6 what one customer of a provider has
// at most.
func wide(from string) string {
	a, err := netip.ParseAddr(from)
	if err != nil || a.Unmap().Is4() {
		return attempt.Network(from)
	}
	return masked(a.WithZone(""), 48)
}
