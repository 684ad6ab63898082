// Package outage logs one line when something begins to fail and one when it recovers, instead of
// one for each attempt.
//
// A Log is for things of one kind, such as endpoints or jobs, identified by name. A thing that
// fails and recovers repeatedly gets the two lines at most once a minute. Each server logs its own
// observations.
package outage

import (
	"log/slog"
	"sync"
	"time"

	"rail/server/clock"
)

const (
	// maxTracked bounds the tracked things.
	maxTracked = 10_000
	// trackFor is how long a thing is tracked after its last failure: longer than the longest wait
	// between two attempts.
	trackFor = 48 * time.Hour
	// quiet is the shortest time between two lines about a thing's failure.
	quiet = time.Minute
)

// Log logs the outages of things of one kind. It is safe for concurrent use; a nil Log does nothing.
type Log struct {
	log   *slog.Logger
	clock clock.Clock
	kind  string // as in "a webhook endpoint began to fail"
	key   string // the attribute of the name; "" for a single thing

	mu  sync.Mutex
	out map[string]*outage
}

// outage is the state of a thing that fails or has failed recently.
type outage struct {
	open       bool
	logged     bool // the begin was logged
	tries      int
	since      clock.Time
	last       clock.Time // the last failure
	lastLogged clock.Time
}

// New returns a Log of things of a kind, with their names in attribute key; "" for a single thing.
func New(log *slog.Logger, c clock.Clock, kind, key string) *Log {
	return &Log{log: log, clock: c, kind: kind, key: key, out: map[string]*outage{}}
}

// Note records the result of an attempt: an error, or nil for success.
func (l *Log) Note(name string, err error) {
	if l == nil || l.log == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.failed(name, err)
	} else if o := l.out[name]; o != nil && o.open {
		l.recovered(name, o)
	}
}

// Forget drops the state of a thing that no longer exists.
func (l *Log) Forget(name string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.out, name)
}

func (l *Log) failed(name string, err error) {
	now := l.clock.Now()
	o := l.out[name]
	if o == nil {
		if o = l.track(name, now); o == nil {
			return
		}
	}
	if !o.open {
		o.open, o.logged, o.tries, o.since = true, false, 0, now
	}
	o.tries++
	o.last = now
	if o.logged || now.Before(o.lastLogged.Plus(quiet).Time) {
		l.log.Debug(l.kind+" failed again", l.attrs(name, "error", err)...)
		return
	}
	o.logged, o.lastLogged = true, now
	l.log.Warn(l.kind+" began to fail", l.attrs(name, "error", err)...)
}

func (l *Log) recovered(name string, o *outage) {
	if o.open = false; o.logged {
		now := l.clock.Now()
		l.log.Info(l.kind+" recovered", l.attrs(name, "failures", o.tries, "after", now.Sub(o.since.Time))...)
	}
}

// track starts tracking name; it returns nil when the table is full.
func (l *Log) track(name string, now clock.Time) *outage {
	if len(l.out) >= maxTracked {
		for other, o := range l.out {
			if !o.open && now.After(o.last.Plus(quiet).Time) || now.After(o.last.Plus(trackFor).Time) {
				delete(l.out, other)
			}
		}
	}
	if len(l.out) >= maxTracked {
		return nil
	}
	o := &outage{}
	l.out[name] = o
	return o
}

func (l *Log) attrs(name string, more ...any) []any {
	if l.key == "" {
		return more
	}
	return append([]any{l.key, name}, more...)
}
