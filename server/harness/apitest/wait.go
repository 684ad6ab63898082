package apitest

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// waitLimit is the longest wait of a test, also on a busy machine.
const waitLimit = 60 * time.Second

// Eventually returns once done reports true, and fails the test after waitLimit. It polls often, so that a test does
// not wait longer than necessary.
func Eventually(t testing.TB, done func() bool, format string, args ...any) {
	t.Helper()
	limit := time.After(waitLimit)
	ask := time.NewTicker(10 * time.Millisecond)
	defer ask.Stop()
	for !done() {
		select {
		case <-ask.C:
		case <-limit:
			require.FailNow(t, "not in time", append([]any{format}, args...)...)
		}
	}
}

// Linger sleeps, as a slow receiver does. Use it only to test the time itself, never to wait for an event.
func Linger(d time.Duration) { <-time.After(d) }

// AtOnce runs f n times concurrently.
func AtOnce(n int, f func(i int) Answer) []Answer {
	out := make([]Answer, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { out[i] = f(i) })
	}
	wg.Wait()
	return out
}
