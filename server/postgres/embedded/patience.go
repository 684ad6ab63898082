package embedded

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"time"

	"rail/server/clock"
)

// errStalled ends a start that makes no progress any more.
var errStalled = errors.New("PostgreSQL made no progress")

// progressEvery is how often is looked whether a start goes on. PostgreSQL tells every ten seconds.
const progressEvery = time.Second

// advances is in each line of the log by which PostgreSQL tells of work before it takes connections: it replays its
// log, or writes files to the disk, and says how long it has.
var advances = []byte("elapsed time: ")

// patient returns a context for a start, which ends where the log at path has told of no progress for the limit: a
// recovery after a crash may take as long as it needs.
func patient(ctx context.Context, path string, limit time.Duration) (_ context.Context, cancel func()) {
	ctx, end := context.WithCancelCause(ctx)
	seen := logSize(path)
	go func() {
		for until := clock.Real().Add(limit); ; {
			if clock.Wait(ctx, min(progressEvery, limit/10)) != nil {
				return
			}
			if advanced(path, &seen) {
				until = clock.Real().Add(limit)
			}
			if clock.Real().After(until) {
				end(errStalled)
				return
			}
		}
	}()
	return ctx, func() { end(nil) }
}

// logSize returns where the log ends, 0 where there is none.
func logSize(path string) int64 {
	st, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return st.Size()
}

// advanced reports whether the log tells of progress since seen, which it moves to the end. A log that was emptied is
// read from its beginning.
func advanced(path string, seen *int64) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // only read
	if logSize(path) < *seen {
		*seen = 0
	}
	text, err := io.ReadAll(io.NewSectionReader(f, *seen, 1<<20))
	if err != nil {
		return false
	}
	*seen += int64(len(text))
	return bytes.Contains(text, advances)
}
