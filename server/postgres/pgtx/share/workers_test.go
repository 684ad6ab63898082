package share

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWorkers starts a parallel batch when as many members wait as the running ones have, and at
// least minParallel and half of the recent load.
func TestWorkers(t *testing.T) {
	t.Parallel()
	w := workers{max: 2, minParallel: 3, enough: 9}
	require.False(t, w.start(0), "no members")
	require.True(t, w.start(1))
	w.begin(1, 0)
	require.False(t, w.start(2), "fewer than three")
	require.True(t, w.start(3))
	w.begin(3, 2)
	require.True(t, w.tooFew(3), "four are running")
	require.False(t, w.tooFew(4))
	require.False(t, w.start(4), "two workers at once")
	w.members -= 3 // the batch has ended
	w.begin(0, 0)
	require.True(t, w.start(3))
	w.begin(1, 6)
	require.True(t, w.tooFew(3), "half of the load of eight")
	require.False(t, w.tooFew(4))
	w.members = 0
	require.False(t, w.tooFew(1), "nothing is running")
	require.Equal(t, Stats{Batches: 3, Members: 5}, w.stats)
}

// TestWorkersEnough starts a parallel batch at any load when enough members wait.
func TestWorkersEnough(t *testing.T) {
	t.Parallel()
	w := workers{max: 2, enough: 12}
	require.True(t, w.start(30))
	w.begin(30, 0)
	require.False(t, w.start(11), "fewer than twelve")
	require.True(t, w.start(12))
}

// TestWorkersForget starts parallel batches with few members again some time after a peak.
func TestWorkersForget(t *testing.T) {
	t.Parallel()
	w := workers{max: 2, enough: 64}
	w.begin(40, 60)
	batches := 0
	for ; w.tooFew(2); batches++ {
		require.Less(t, batches, 40)
		w.members = 0
		w.begin(2, 0)
	}
	require.Greater(t, batches, 20)
}
