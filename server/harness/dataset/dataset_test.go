package dataset_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/dataset"
	"rail/server/harness/pgtest"
	"rail/server/money/ledger/check"
	"rail/server/money/report"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var until = clock.At(time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC))

func options() dataset.Options {
	return dataset.Options{Size: dataset.Full.Times(0), Until: until, Org: dataset.Big, Other: dataset.Small}
}

func TestDatasetIsSound(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	require.NoError(t, dataset.Fill(t.Context(), dsn, options()))
	pool := pgtest.Pool(t, dsn)
	require.NoError(t, report.Sum(t.Context(), pool, until.Days(-700))) // a month is enough
	found, err := check.Run(t.Context(), pool)
	require.NoError(t, err)
	require.Empty(t, found)

	// Foreign keys were off during the load: creating each again checks the rows.
	rows, err := pool.Query(t.Context(),
		`SELECT format('ALTER TABLE %s ADD CONSTRAINT again_%s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) FROM pg_constraint
		WHERE contype = 'f' AND conparentid = 0 AND connamespace = 'public'::regnamespace`)
	require.NoError(t, err)
	keys, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Greater(t, len(keys), 50)
	for _, sql := range keys {
		_, err := pool.Exec(t.Context(), sql)
		require.NoError(t, err, sql)
	}
	for _, table := range []string{
		"clicks", "customers", "sales", "commissions", "payouts", "balances", "ledger_entries", "events", "report_sums",
	} {
		var n int
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
		require.Greater(t, n, 100, table)
	}
	require.ErrorIs(t, dataset.Fill(t.Context(), dsn, options()), dataset.ErrInUse)
}
