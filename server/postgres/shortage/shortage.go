// Package shortage remembers what the database has lately run out of. Writes fail then, and reads
// go on, so that neither a ping nor a page would show it.
package shortage

import (
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"rail/server/clock"
)

// Kind is what there is too little of.
type Kind string

// The kinds of shortages.
const (
	None   Kind = ""
	Disk   Kind = "disk"
	Memory Kind = "memory"
)

// lasts is for how long after the last failure there is a shortage: jobs write more often.
const lasts = time.Minute

// Of says what an error of the database is for want of. A disk that cannot be written is as one
// without room.
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

// Watch remembers failures. It may be used at the same time; a nil one knows of none.
type Watch struct {
	clock clock.Clock
	mu    sync.Mutex
	last  map[Kind]clock.Time
}

// NewWatch returns a watch that has seen nothing.
func NewWatch(c clock.Clock) *Watch { return &Watch{clock: c, last: map[Kind]clock.Time{}} }

// Note takes an error of anything that the database was asked to do.
func (w *Watch) Note(err error) {
	kind := Of(err)
	if w == nil || kind == None {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last[kind] = w.clock.Now()
}

// Problem says, for everybody to read, that there is a shortage of a kind; "" where there is none.
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
