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

// errStalled ends a start without progress.
var errStalled = errors.New("PostgreSQL made no progress")

// progressEvery is the time between checks of a start's progress. PostgreSQL logs progress every ten seconds.
const progressEvery = time.Second

// advances is part of each log line about progress before PostgreSQL accepts connections: it
// replays its WAL, or syncs files, and logs the elapsed time.
var advances = []byte("elapsed time: ")

// patient returns a context for a start. It ends when the log at path shows no progress for the
// limit: a recovery after a crash may take as long as it needs.
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

// logSize returns the size of the log, or 0.
func logSize(path string) int64 {
	st, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return st.Size()
}

// advanced reports whether the log shows progress since the offset seen, and moves seen to the end.
// It reads an emptied log from the beginning.
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
