package middleware

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/pgtest"
)

func replicas(pool *pgxpool.Pool, c clock.Clock, n int) []*sharedLimiter {
	out := make([]*sharedLimiter, n)
	for i := range out {
		out[i] = newSharedLimiter(pool, c, newLimiter(c))
		out[i].timeout = time.Minute // for slow machines
	}
	return out
}

// accepted returns how many of n requests a limiter accepts.
func accepted(t *testing.T, l *sharedLimiter, requests int) (n int) {
	t.Helper()
	for range requests {
		if _, ok := l.take(t.Context(), "key", 25); ok {
			n++
		}
	}
	return n
}

// TestClockSetBack: a clock that is set back blocks no key.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	c := clock.NewManual(time.Now())
	shared := replicas(pgtest.New(t), c, 1)[0]
	require.Equal(t, 25, accepted(t, shared, 40))
	c.Advance(-10 * time.Minute)
	n := 0
	for range 10 {
		c.Advance(time.Second)
		n += accepted(t, shared, 1)
	}
	require.GreaterOrEqual(t, n, 9)
	for range 30 {
		_, _ = shared.local.take("key", 25)
	}
	c.Advance(-time.Hour)
	_, ok := shared.local.take("key", 25)
	require.False(t, ok)
	c.Advance(time.Second)
	_, ok = shared.local.take("key", 25)
	require.True(t, ok)
}

// TestManyReplicas: tokens held by replicas do not block a key below its limit.
func TestManyReplicas(t *testing.T) {
	t.Parallel()
	c := clock.NewManual(time.Now())
	for second, all := 0, replicas(pgtest.New(t), c, 12); second < 3; second++ {
		for _, l := range all {
			require.Equal(t, 1, accepted(t, l, 1), "second %d", second)
		}
		c.Advance(time.Second)
	}
}

// TestUnavailable: a database that did not answer is not asked again at once.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	c, pool := clock.NewManual(time.Now()), pgtest.New(t)
	shared := replicas(pool, c, 1)[0]
	count := func() (n int) {
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM rate_buckets").Scan(&n))
		return n
	}
	_, err := pool.Exec(t.Context(), "ALTER TABLE rate_buckets RENAME TO away")
	require.NoError(t, err)
	require.Equal(t, 1, accepted(t, shared, 1))
	_, err = pool.Exec(t.Context(), "ALTER TABLE away RENAME TO rate_buckets")
	require.NoError(t, err)
	require.Equal(t, 24, accepted(t, shared, 40), "it limits alone")
	require.Zero(t, count())
	c.Advance(time.Second)
	require.Equal(t, 1, accepted(t, shared, 1))
	require.Equal(t, 1, count())
}
