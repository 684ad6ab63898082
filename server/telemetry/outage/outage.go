// Package outage writes one line to the log when something begins to fail and one when it recovers, in place of a
// line for each try.
//
// A Log is for things of one kind, such as endpoints or jobs, which it tells apart by name. What fails and works by
// turns has its two lines once a minute at most. Each server tells what it has met itself.
package outage

import (
	"log/slog"
	"sync"
	"time"

	"rail/server/clock"
)

const (
	// mostKept bounds the things that are kept in mind.
	mostKept = 10_000
	// forgotten is how long after its last failure a thing is kept in mind: longer than the longest wait from one
	// try of anything to the next.
	forgotten = 48 * time.Hour
	// quiet is the least time from one line about a thing's failure to the next.
	quiet = time.Minute
)

// Log tells of things of one kind. Its methods may be called at the same time; those of a nil Log do nothing.
type Log struct {
	log   *slog.Logger
	clock clock.Clock
	kind  string // as in "a webhook endpoint began to fail"
	key   string // of the attribute that has the name; "" where there is one thing only

	mu  sync.Mutex
	out map[string]*outage
}

// outage is what is known of a thing that fails, or did a short while ago.
type outage struct {
	open     bool
	told     bool // that it began
	tries    int
	since    clock.Time
	last     clock.Time // of its failures
	lastTold clock.Time
}

// New returns a Log of things of a kind, whose names stand under key; "" for the only thing of its kind.
func New(log *slog.Logger, c clock.Clock, kind, key string) *Log {
	return &Log{log: log, clock: c, kind: kind, key: key, out: map[string]*outage{}}
}

// Note takes how a try ended: with an error, or nil where it went well.
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

// Forget takes a thing out of mind that is there no longer.
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
		if o = l.keep(name, now); o == nil {
			return
		}
	}
	if !o.open {
		o.open, o.told, o.tries, o.since = true, false, 0, now
	}
	o.tries++
	o.last = now
	if o.told || now.Before(o.lastTold.Plus(quiet).Time) {
		l.log.Debug(l.kind+" failed again", l.attrs(name, "error", err)...)
		return
	}
	o.told, o.lastTold = true, now
	l.log.Warn(l.kind+" began to fail", l.attrs(name, "error", err)...)
}

func (l *Log) recovered(name string, o *outage) {
	if o.open = false; o.told {
		now := l.clock.Now()
		l.log.Info(l.kind+" recovered", l.attrs(name, "failures", o.tries, "after", now.Sub(o.since.Time))...)
	}
}

// keep takes a thing in mind, and returns nil where there are too many: then only those that are known are told of.
func (l *Log) keep(name string, now clock.Time) *outage {
	if len(l.out) >= mostKept {
		for other, o := range l.out {
			if !o.open && now.After(o.last.Plus(quiet).Time) || now.After(o.last.Plus(forgotten).Time) {
				delete(l.out, other)
			}
		}
	}
	if len(l.out) >= mostKept {
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
