package webhook

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/api"
	"rail/gen/events"
	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/work/event"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// TestLongestWait: an open transaction delays events for at most longestWait.
func TestLongestWait(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	s := NewSender(Options{Pool: pool})
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) }) // it may have ended
	r := event.Recorder{Now: clock.System{}.Now()}
	r.Record("org_1", event.Subject{ProgramID: "prg_1", ID: "part_1"}, events.AffiliateUpdated(api.AffiliateUpdatedData{}))
	require.NoError(t, r.Flush(t.Context(), tx))
	delaying := func(since time.Duration) int {
		for l, at := range s.horizon.seen {
			s.horizon.seen[l] = at.Add(-since)
		}
		h, err := s.settled(t.Context(), 0)
		require.NoError(t, err)
		return len(h.Locks)
	}
	require.Equal(t, 1, delaying(0))
	require.Equal(t, 1, delaying(longestWait/2))
	require.Zero(t, delaying(longestWait))
	require.NoError(t, tx.Rollback(t.Context()))
	require.Zero(t, delaying(0))
	require.Empty(t, s.horizon.seen)
}
