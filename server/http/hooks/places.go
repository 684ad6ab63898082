package hooks

import (
	"context"
	"slices"
	"sync"
	"time"

	"rail/server/clock"
)

// The bounds of bodies whose signature is not checked yet: 48 MiB a server, and 16 KiB of each connection.
const (
	// smallBody is the largest body that needs no place. Most events are smaller, so that
	// those who hold all places cannot keep them out.
	smallBody = 16 << 10
	// placesInAll and placesOfAddress bound the larger bodies, by server and by address.
	placesInAll     = 24
	placesOfAddress = 8
	// placesBeyond is for an address that asks too often.
	placesBeyond = 2
	// grace is how long a body keeps its place when others wait for it. A processor's
	// body takes milliseconds; a slow one gives way.
	grace = 250 * time.Millisecond
	// patience is how long a request waits for a place. Processors wait at least 5 s for
	// the answer.
	patience = 2 * time.Second
)

// place is what a body holds until its signature is checked.
type place struct {
	address string
	most    int    // places of the address, this one with them
	stop    func() // ends the reading

	since time.Time // set by take
	gone  bool      // another body has it
}

// places are those that are held. The zero value is ready to use.
type places struct {
	mu      sync.Mutex
	held    []*place      // the oldest first
	changed chan struct{} // closed when one is left, if somebody waits
}

// take waits for a place, and reports whether there was one in time.
func (p *places) take(ctx context.Context, at *place) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
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

// try takes a place, that of the oldest body in the way if need be. While that has its
// grace, try returns what to wait for.
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

// inTheWay returns the oldest body of those that leave no place, or nil. The caller
// holds p.mu.
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
	case len(p.held) >= placesInAll:
		return p.held[0]
	}
	return nil
}

// remove takes a place from those that are held. The caller holds p.mu.
func (p *places) remove(at *place) {
	p.held = slices.DeleteFunc(p.held, func(other *place) bool { return other == at })
}

// leave gives a place back.
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
