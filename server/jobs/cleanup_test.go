package jobs

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/work"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestPurgeRemovesExpiredKeysInBatches(t *testing.T) {
	pool := pgtest.New(t)
	now := clock.At(time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC))
	_, err := pool.Exec(t.Context(),
		`WITH o AS (INSERT INTO organizations (id, name, created_at) VALUES ('org_1', 'x', $1) RETURNING id)
		INSERT INTO idempotency_keys (org_id, key, fingerprint, status, body, created_at)
		SELECT o.id, n::text, '', 200, '', CASE WHEN n <= $3 THEN $2 ELSE $1 END::timestamptz FROM o, generate_series(1, $3 + 5) n`,
		now, now.Plus(-work.Replay), 2*purgeBatch+1)
	require.NoError(t, err)
	require.NoError(t, cleanUp(Means{Pool: pool}).Run(t.Context(), now))
	var left int
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM idempotency_keys").Scan(&left))
	require.Equal(t, 5, left)
}
