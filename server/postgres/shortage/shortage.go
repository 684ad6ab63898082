// Package shortage records that the database has recently run out of disk or memory. Writes then
// fail while reads succeed, so that neither a ping nor a page would show it.
package shortage

import (
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"rail/server/clock"
)

// Kind is a resource that is short.
type Kind string

// The kinds of shortages.
const (
	None   Kind = ""
	Disk   Kind = "disk"
	Memory Kind = "memory"
)

// lasts is how long a shortage lasts after the last failure; jobs write more often than that.
const lasts = time.Minute

// Of returns the kind of shortage that caused an error of the database. A disk with write errors
// counts as full.
func Of(err error) Kind {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return None
	}
	switch pg.Code {
	case "53100", "58030": // disk_full, io_error
		return Disk
	case "53200": // out_of_memory
		return Memory
	}
	return None
}

// Watch records failures. It is safe for concurrent use; a nil Watch records none.
type Watch struct {
	clock clock.Clock
	mu    sync.Mutex
	last  map[Kind]clock.Time
}

// NewWatch returns a watch without failures.
func NewWatch(c clock.Clock) *Watch { return &Watch{clock: c, last: map[Kind]clock.Time{}} }

// Note records an error of the database.
func (w *Watch) Note(err error) {
	kind := Of(err)
	if w == nil || kind == None {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last[kind] = w.clock.Now()
}

// Problem returns a public message about the current shortage, or "".
func (w *Watch) Problem(kind Kind) string {
	if w == nil {
		return ""
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if at, ok := w.last[kind]; !ok || w.clock.Now().Sub(at.Time) >= lasts {
		return ""
	}
	return "the database has had too little " + string(kind) + " to write within the last minute"
}
