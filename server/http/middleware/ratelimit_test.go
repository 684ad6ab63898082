package middleware

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
)

// TestLimiterIsBounded: any number of addresses uses bounded memory, and an address that keeps
// sending is not dropped.
func TestLimiterIsBounded(t *testing.T) {
	t.Parallel()
	c := clock.NewManual(time.Unix(1e9, 0))
	l := newLimiter(c)
	accepted := 0
	for i := range 3 * maxBuckets {
		_, ok := l.take(fmt.Sprint(i), 25)
		require.True(t, ok)
		if _, ok := l.take("greedy", 25); ok {
			accepted++
		}
		require.LessOrEqual(t, len(l.recent)+len(l.old), maxBuckets)
	}
	require.Equal(t, 25, accepted)
}
