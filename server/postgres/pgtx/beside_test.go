package pgtx

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBusBeside has riders wait for the next transaction while another has more of
// them, and go beside it once they are as many.
func TestBusBeside(t *testing.T) {
	t.Parallel()
	b := newBus(nil, mostRiders)
	b.lanes.most, b.lanes.running, b.lanes.carried = 2, 1, 3
	b.join(&seat{})
	b.join(&seat{})
	require.Equal(t, 1, b.lanes.running)
	b.lanes.running++ // one that has just ended
	require.Empty(t, b.board())
	require.Len(t, b.waiting, 2)
	require.Equal(t, 1, b.lanes.running)

	b.waiting = append(b.waiting, &seat{})
	b.lanes.running++
	require.Len(t, b.board(), 3)
	require.Equal(t, []int{2, 6, 0}, []int{b.lanes.running, b.lanes.carried, len(b.waiting)})
}

// TestReadsBeside has reads wait likewise.
func TestReadsBeside(t *testing.T) {
	t.Parallel()
	r := NewReads(nil, 0, 2)
	r.lanes.running, r.lanes.carried = 1, 3
	require.True(t, r.join(&short{}))
	require.True(t, r.join(&short{}))
	require.Equal(t, 1, r.lanes.running)
	r.lanes.running++
	r.lanes.carried += 5
	require.Empty(t, r.board(5))
	require.Len(t, r.waiting, 2)
	require.Equal(t, 1, r.lanes.running)

	r.waiting = append(r.waiting, &short{})
	r.lanes.running++
	require.Len(t, r.board(0), 3)
	require.Equal(t, []int{2, 6, 0}, []int{r.lanes.running, r.lanes.carried, len(r.waiting)})
}
