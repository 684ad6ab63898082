package hooks

import (
	"context"
	"slices"
	"sync"
	"time"

	"rail/server/clock"
)

// Limits of bodies with unverified signatures: 48 MiB a server, and 16 KiB of each connection.
const (
	// smallBody is the largest body that needs no place. Most events are smaller, so that they are
	// accepted even if all places are taken.
	smallBody = 16 << 10
	// maxPlaces and placesOfAddress bound the larger bodies, by server and by address.
	maxPlaces       = 24
	placesOfAddress = 8
	// placesBeyond is for an address beyond its rate limit.
	placesBeyond = 2
	// grace is how long a body keeps its place while others wait. A processor's body takes
	// milliseconds; a slow one loses its place.
	grace = 250 * time.Millisecond
	// placeTimeout bounds the wait for a place. Processors wait at least 5 s for the answer.
	placeTimeout = 2 * time.Second
)

// place is held by a body until its signature is verified.
type place struct {
	address string
	most    int    // places of the address, including this one
	stop    func() // ends the reading

	since time.Time // set by take
	gone  bool      // another body has taken it
}

// places holds the occupied places. The zero value is ready to use.
type places struct {
	mu      sync.Mutex
	held    []*place      // the oldest first
	changed chan struct{} // closed when a place is left, or nil
}

// take waits for a place, and reports whether it got one in time.
func (p *places) take(ctx context.Context, at *place) bool {
	ctx, cancel := context.WithTimeout(ctx, placeTimeout)
	defer cancel()
	for {
		changed, wait := p.try(at)
		if changed == nil {
			return true
		}
		again := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			again.Stop()
			return false
		case <-changed:
		case <-again.C:
		}
		again.Stop()
	}
}

// try takes a place, if necessary that of the oldest body in the way. During that body's grace, try
// returns the channel and time to wait for.
func (p *places) try(at *place) (changed <-chan struct{}, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := clock.Real()
	if old := p.inTheWay(at); old != nil {
		if age := now.Sub(old.since); age < grace {
			if p.changed == nil {
				p.changed = make(chan struct{})
			}
			return p.changed, grace - age
		}
		old.gone = true
		old.stop()
		p.remove(old)
	}
	at.since = now
	p.held = append(p.held, at)
	return nil, 0
}

// inTheWay returns the oldest body that prevents another one, or nil. The caller holds p.mu.
func (p *places) inTheWay(at *place) *place {
	var first *place
	n := 0
	for _, other := range p.held {
		if other.address == at.address {
			if n++; first == nil {
				first = other
			}
		}
	}
	switch {
	case n >= at.most:
		return first
	case len(p.held) >= maxPlaces:
		return p.held[0]
	}
	return nil
}

// remove removes a place. The caller holds p.mu.
func (p *places) remove(at *place) {
	p.held = slices.DeleteFunc(p.held, func(other *place) bool { return other == at })
}

// leave releases a place.
func (p *places) leave(at *place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remove(at)
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// lost reports whether another body has the place.
func (p *places) lost(at *place) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return at.gone
}
