package pgtx

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLanes has a trip begin beside others when as many wait as those carry, and as many
// as one beside another has.
func TestLanes(t *testing.T) {
	t.Parallel()
	l := lanes{most: 2, beside: 3}
	require.False(t, l.open(0), "for nobody")
	require.True(t, l.open(1))
	l.leave(1)
	require.False(t, l.open(2), "fewer than three")
	require.True(t, l.open(3))
	l.leave(3)
	require.True(t, l.few(3), "four are under way")
	require.False(t, l.few(4))
	require.False(t, l.open(4), "two at once")
	l.carried -= 3 // it has arrived
	l.leave(0)
	require.True(t, l.open(9))
	l.carried = 0
	require.False(t, l.few(1), "beside nobody")
	require.Equal(t, Shared{Trips: 2, Riders: 4}, l.shared)
}
