// Package clock is the one source of time. Everything that decides by time
// takes a Clock, so that tests and `rail job run --now` can set it.
package clock

import (
	"sync"
	"time"
)

// Clock returns the time.
type Clock interface {
	// Now returns the present in UTC, cut to microseconds as PostgreSQL keeps it.
	Now() Time
}

// System is the machine's clock.
type System struct{}

// Now returns the machine's time.
func (System) Now() Time { return At(time.Now()) }

// Real returns the machine's time with what its monotonic clock reads. It is for
// measuring how long something takes; what is decided by time takes a Clock.
func Real() time.Time { return time.Now() }

// Manual is a clock that stands until it is moved. Safe for concurrent use.
type Manual struct {
	mu  sync.Mutex
	now Time
}

// NewManual returns a clock set to t.
func NewManual(t time.Time) *Manual { return &Manual{now: At(t)} }

// Now returns the time that was set last.
func (m *Manual) Now() Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// Advance moves the clock forward by d.
func (m *Manual) Advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = At(m.now.Add(d))
}

// Set moves the clock to t.
func (m *Manual) Set(t time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = At(t)
}
