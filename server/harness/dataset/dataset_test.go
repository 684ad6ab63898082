package dataset_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
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
	sound(t, pool)
	for _, table := range []string{
		"clicks", "customers", "sales", "commissions", "payouts", "balances", "ledger_entries", "events", "report_sums",
		"imports", "import_problems", "import_balances", "import_objects",
	} {
		var n int
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
		require.Greater(t, n, 100, table)
	}
	require.ErrorIs(t, dataset.Fill(t.Context(), dsn, options()), dataset.ErrInUse)
}

func TestEvenDatasetIsSound(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	require.NoError(t, dataset.Fill(t.Context(), dsn, dataset.Options{
		Size: dataset.Size{Partners: 400, Customers: 1000, Sales: 4000}, Even: true, Hot: 200, Org: dataset.Big, Until: until,
	}))
	pool := pgtest.Pool(t, dsn)
	sound(t, pool)
	var customers, hot, sales, flows int
	err := pool.QueryRow(t.Context(), `
		SELECT (SELECT count(*) FROM customers), (SELECT count(*) FROM customers WHERE partner_id = $1),
			(SELECT count(*) FROM sales WHERE customer_id = $2), (SELECT count(*) FROM flows WHERE status = 'active')`,
		dataset.ID("part", dataset.FirstPartner), dataset.ID("cus", dataset.FirstCustomer+7),
	).Scan(&customers, &hot, &sales, &flows)
	require.NoError(t, err)
	require.Equal(t, []int{1000, 200 + 2, 4, dataset.Programs}, []int{customers, hot, sales, flows})
}

// sound fails the test if rail audit finds something, or a row breaks a foreign key.
func sound(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
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
}
