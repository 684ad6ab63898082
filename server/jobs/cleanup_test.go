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
	require.NoError(t, cleanUp(Deps{Pool: pool}).Run(t.Context(), now))
	var left int
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM idempotency_keys").Scan(&left))
	require.Equal(t, 5, left)
}

// Other ids of payments are deleted after two years, in batches.
func TestPurgeRemovesOldAliases(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	now := clock.At(time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC))
	for _, sql := range tallied[:2] {
		_, err := pool.Exec(t.Context(), sql)
		require.NoError(t, err, sql)
	}
	_, err := pool.Exec(t.Context(), `INSERT INTO charge_aliases (org_id, program_id, alias, external_charge_id, created_at)
		SELECT 'org_1', 'prg_1', 'pi_' || n, 'in_' || n, CASE WHEN n <= $3 THEN $1::timestamptz ELSE $2 END
		FROM generate_series(1, $3 + 5) n`, now.Days(-aliasDays).Plus(-time.Second), now.Days(-aliasDays), purgeBatch+1)
	require.NoError(t, err)
	require.NoError(t, cleanUp(Deps{Pool: pool}).Run(t.Context(), now))
	var left int
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM charge_aliases").Scan(&left))
	require.Equal(t, 5, left)
}
