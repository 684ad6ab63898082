package clock

import (
	"sync"
	"time"
)

// Shifted is a clock ahead of another one. It runs with the other clock, and stops while it is moved, at the times that
// the caller chooses. It never goes back while the other clock does not. It is safe for concurrent use.
type Shifted struct {
	base Clock

	mu    sync.Mutex
	ahead time.Duration
	held  *Time // the moment at which the clock stands; nil while it runs
}

// NewShifted returns a clock that is ahead of base.
func NewShifted(base Clock, ahead time.Duration) *Shifted { return &Shifted{base: base, ahead: ahead} }

// Now returns the time of the other clock plus the difference, or the moment at which the clock stands.
func (s *Shifted) Now() Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now()
}

// now is Now for a caller that holds mu.
func (s *Shifted) now() Time {
	if s.held != nil {
		return *s.held
	}
	return s.base.Now().Plus(s.ahead)
}

// Stop stops the clock and returns its time.
func (s *Shifted) Stop() Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = new(s.now())
	return *s.held
}

// Move moves the stopped clock forward to t, and returns how far it is then ahead of the other clock.
func (s *Shifted) Move(t Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.now(); t.Before(now.Time) {
		t = now
	}
	s.held, s.ahead = &t, t.Sub(s.base.Now().Time)
	return s.ahead
}

// Continue makes the clock run again, from the moment at which it stands.
func (s *Shifted) Continue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held != nil {
		s.held, s.ahead = nil, s.held.Sub(s.base.Now().Time)
	}
}

// Wall returns the clock that other machines share: c itself, or the clock that a Shifted is ahead of. Times that
// another machine makes or checks, such as those of signatures and certificates, are compared with it.
func Wall(c Clock) Clock {
	if s, ok := c.(interface{ wall() Clock }); ok {
		return s.wall()
	}
	return c
}

func (s *Shifted) wall() Clock { return s.base }
