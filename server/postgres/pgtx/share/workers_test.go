package share

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWorkers starts a parallel batch when as many members wait as the running ones
// have, and at least minParallel, or when enough wait.
func TestWorkers(t *testing.T) {
	t.Parallel()
	w := workers{max: 2, minParallel: 3}
	require.False(t, w.start(0), "no members")
	require.True(t, w.start(1))
	w.begin(1)
	require.False(t, w.start(2), "fewer than three")
	require.True(t, w.start(3))
	w.begin(3)
	require.True(t, w.tooFew(3), "four are running")
	require.False(t, w.tooFew(4))
	require.False(t, w.start(4), "two workers at once")
	w.members -= 3 // the batch has ended
	w.begin(0)
	require.True(t, w.start(9))
	w.members = 0
	require.False(t, w.tooFew(1), "nothing is running")
	require.Equal(t, Stats{Batches: 2, Members: 4}, w.stats)

	w = workers{max: 2, enough: 12}
	require.True(t, w.start(30))
	w.begin(30)
	require.False(t, w.start(11), "fewer than twelve")
	require.True(t, w.start(12), "enough, although thirty are running")
}
