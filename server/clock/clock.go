// Package clock is the only source of time. All decisions by time use a Clock, so that tests and
// `rail job run --now` can set it.
package clock

import (
	"sync"
	"time"
)

// Clock returns the time.
type Clock interface {
	// Now returns the current time in UTC, truncated to microseconds like in PostgreSQL.
	Now() Time
}

// System is the system clock.
type System struct{}

// Now returns the system time.
func (System) Now() Time { return At(time.Now()) }

// Real returns the system time with its monotonic reading, for measuring durations. Decisions by
// time use a Clock.
func Real() time.Time { return time.Now() }

// Manual is a clock that only moves when it is set. It is safe for concurrent use.
type Manual struct {
	mu  sync.Mutex
	now Time
}

// NewManual returns a clock at t.
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
