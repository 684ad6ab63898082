// Package wait waits in tests for goroutines, processes and pages.
package wait

import (
	"time"

	"github.com/stretchr/testify/require"
)

// Limit is long, because a busy machine can take minutes. It finds a wait without end and does not measure speed.
const Limit = 5 * time.Minute

// Until returns once done reports true, and fails the test after Limit. It calls done in the test's goroutine, first
// after 100 µs and later every 20 ms.
func Until(t require.TestingT, done func() bool, msgAndArgs ...any) {
	if h, ok := t.(interface{ Helper() }); ok {
		h.Helper()
	}
	end := time.After(Limit)
	for pause := 100 * time.Microsecond; !done(); pause = min(2*pause, 20*time.Millisecond) {
		select {
		case <-time.After(pause):
		case <-end:
			require.FailNow(t, "not in time", msgAndArgs...)
		}
	}
}
