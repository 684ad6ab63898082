// Package wait waits in tests for goroutines, processes, pages and locks of the database.
package wait

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
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

// ForLocks returns once at least n sessions of the pool's database wait for a lock of a kind, such as "relation" or
// "advisory"; an empty kind is any.
func ForLocks(t testing.TB, pool *pgxpool.Pool, kind string, n int) {
	t.Helper()
	Until(t, func() bool {
		var waiting int
		err := pool.QueryRow(t.Context(), `SELECT count(DISTINCT pid) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
			WHERE a.datname = current_database() AND NOT l.granted AND ($1 = '' OR l.locktype = $1)`, kind).Scan(&waiting)
		return err == nil && waiting >= n
	}, "%d sessions wait for a lock", n)
}
