package standby

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/postgres/pgtx"
)

func at(timeline uint32, lsn uint64) pgtx.Position {
	return pgtx.Position{Timeline: timeline, LSN: lsn}
}

// quiet returns a standby that was never checked.
func quiet() *Standby { return &Standby{Name: "s"} }

// TestLag: a standby is used after it has caught up for the first time, and while it is less than
// MaxLag behind.
func TestLag(t *testing.T) {
	t.Parallel()
	s := quiet()
	began := clock.Real()
	check := func(after time.Duration, primary, own uint64) error {
		return s.reached(at(1, own), mark{at(1, primary), began.Add(after)})
	}
	require.NoError(t, check(0, 100, 50))
	require.False(t, s.Up(), "not caught up yet")
	require.NoError(t, check(time.Second, 200, 100))
	require.True(t, s.Up())
	require.True(t, s.serves(at(1, 100)))
	require.False(t, s.serves(at(1, 101)), "not replayed")
	require.False(t, s.serves(at(2, 1)), "of a later timeline")
	require.True(t, s.serves(pgtx.Position{}))
	require.False(t, s.serves(pgtx.Unknown))
	require.Equal(t, time.Second, s.Lag())
	require.NoError(t, check(2*time.Second, 300, 300))
	require.Zero(t, s.Lag())
	require.NoError(t, check(3*time.Second, 400, 300))
	require.NoError(t, check(2*time.Second+MaxLag, 500, 399))
	require.ErrorContains(t, check(2*time.Second+MaxLag+1, 500, 399), "lags")
	s.drop()
	require.ErrorContains(t, check(3*time.Second+MaxLag, 500, 399), "lags")
	require.False(t, s.Up(), "back, and still behind")
}

// TestStale: a standby that was not checked for long is not used.
func TestStale(t *testing.T) {
	t.Parallel()
	s := quiet()
	s.use(view{at: at(1, 9), fresh: clock.Real().Add(-MaxLag - time.Second)})
	require.False(t, s.serves(pgtx.Position{}))
}

// TestRefusal: only a standby that follows the primary is used.
func TestRefusal(t *testing.T) {
	t.Parallel()
	right := answer{at: at(2, 9), cluster: 7, standby: true}
	require.NoError(t, right.refusal(7, 2))
	require.ErrorContains(t, right.refusal(8, 2), "another cluster")
	require.ErrorContains(t, right.refusal(7, 3), "failover")
	require.ErrorContains(t, right.refusal(7, 1), "failover", "its primary is not the one that is written to")
	right.standby = false
	require.ErrorContains(t, right.refusal(7, 2), "not a standby")
}

// TestLeave: reads end when their standby is no longer used.
func TestLeave(t *testing.T) {
	t.Parallel()
	s := quiet()
	for range 2 {
		s.use(view{})
		ctx, end := s.Bound(t.Context())
		s.use(view{at: at(1, 1)})
		require.NoError(t, ctx.Err())
		s.leave(errors.New("gone"))
		s.leave(errors.New("still gone"))
		<-ctx.Done()
		end()
	}
	ctx, end := s.Bound(t.Context())
	defer end()
	require.Error(t, ctx.Err(), "it was left out in between")
}

// TestNotes: a position is kept as long as a standby may lag; keys beyond the limit share one.
func TestNotes(t *testing.T) {
	t.Parallel()
	var n notes
	n.put("a", at(1, 5))
	n.put("a", at(1, 3))
	require.Equal(t, at(1, 5), n.get("a"))
	require.Zero(t, n.get("b"))
	n.put("a", at(2, 1))
	n.age()
	require.Equal(t, at(2, 1), n.get("a"))
	n.age()
	require.Zero(t, n.get("a"))
	for i := range most + 10 {
		n.put(fmt.Sprint(i), at(1, 1))
	}
	require.LessOrEqual(t, len(n.young), most+1)
	n.put("late", at(1, 9))
	require.Equal(t, at(1, 9), n.get("late"))
	require.Equal(t, at(1, 9), n.get("0"))
}
