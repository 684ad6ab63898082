package team

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"rail/server/auth/attempt"
	"rail/server/problem"
)

const (
	// hashesAtOnce bounds the memory and CPU that hashing uses.
	hashesAtOnce = 2
	// unknownAtOnce bounds the hashes for unknown browsers, those without an earlier sign-in.
	unknownAtOnce = 1
	// waitingAtOnce bounds the waiting requests of a network from unknown browsers.
	waitingAtOnce = 16
	// patience is how long a request waits for a hash.
	patience = 2 * time.Second
)

// errBusy refuses a request that waited too long. It is not a 5xx, with which a flood of wrong passwords would
// fill the log.
var errBusy = &problem.Error{
	Code: problem.RateLimitExceeded, Message: "Many people are signing in. Try again in a moment.", RetryAfter: 1,
}

// hashQueue bounds the passwords that are hashed at once. Known browsers go first, and one hash is reserved for them.
// Unknown browsers are served network by network, so that many requests of one network delay another only by one.
type hashQueue struct {
	mu                sync.Mutex
	known, unknown    waitList
	busy, busyUnknown int // running hashes, and those among them for unknown browsers
}

// waitList has a queue of waiting requests for each key, and the keys in the order in which they are served.
type waitList struct {
	keys    []string
	waiting map[string][]chan struct{}
}

// acquire waits until a password may be hashed for a key, and returns a function that releases the hash.
func (t *hashQueue) acquire(ctx context.Context, key string, known bool, patience time.Duration) (func(), error) {
	own := make(chan struct{}, 1)
	if !t.join(own, key, known) {
		return nil, errBusy
	}
	done := func() { t.release(known) }
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
	return done, nil // admitted at the same moment
}

// join adds a request to its list, unless too many of the key wait.
func (t *hashQueue) join(own chan struct{}, key string, known bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.list(known)
	if len(l.waiting[key]) >= waitingAtOnce {
		return false
	}
	l.add(own, key)
	t.next()
	return true
}

// leave removes a request from its list, and reports whether it still waited.
func (t *hashQueue) leave(own chan struct{}, key string, known bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.list(known).remove(own, key)
}

// release ends a hash.
func (t *hashQueue) release(known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.busy--
	if !known {
		t.busyUnknown--
	}
	t.next()
}

func (t *hashQueue) list(known bool) *waitList {
	if known {
		return &t.known
	}
	return &t.unknown
}

// next admits as many requests as are free. The caller holds t.mu.
func (t *hashQueue) next() {
	for t.busy < hashesAtOnce && t.known.admitNext() {
		t.busy++
	}
	for t.busy < hashesAtOnce && t.busyUnknown < unknownAtOnce && t.unknown.admitNext() {
		t.busy++
		t.busyUnknown++
	}
}

// add appends to the key's queue.
func (l *waitList) add(own chan struct{}, key string) {
	if l.waiting == nil {
		l.waiting = map[string][]chan struct{}{}
	}
	if len(l.waiting[key]) == 0 {
		l.keys = append(l.keys, key)
	}
	l.waiting[key] = append(l.waiting[key], own)
}

// admitNext admits the head of the first key's queue and moves the key behind the others.
func (l *waitList) admitNext() bool {
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
func (l *waitList) remove(own chan struct{}, key string) bool {
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

// networkKey returns the network of an unknown browser: for IPv6 the largest block that an internet provider
// gives one customer.
func networkKey(from string) string {
	a, err := netip.ParseAddr(from)
	if err != nil || a.Unmap().Is4() {
		return attempt.Network(from)
	}
	return networkOf(a.WithZone(""), 48)
}
