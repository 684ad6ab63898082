package sample_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/cli/sample"
	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/ident"
	"rail/server/money/ledger"
	"rail/server/money/ledger/check"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// TestLoadOnASlowMachine: creating the rows may take longer than the database's timeouts.
func TestLoadOnASlowMachine(t *testing.T) {
	t.Parallel()
	ctx, cfg := t.Context(), pgtest.New(t).Config().Copy()
	cfg.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] = "50"
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	require.NoError(t, err)
	defer pool.Close()
	now := clock.At(time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC))
	org := ident.New(ident.Organization)
	require.NoError(t, db.New().OrganizationInsert(ctx, pool, db.OrganizationInsertParams{ID: org, Name: "Demo", CreatedAt: now}))
	require.NoError(t, sample.Load(ctx, pool, keeper(t), org, now))
}

func TestLoadAndClear(t *testing.T) {
	t.Parallel()
	ctx, pool := t.Context(), pgtest.New(t)
	now := clock.At(time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC))
	org := ident.New(ident.Organization)
	require.NoError(t, db.New().OrganizationInsert(ctx, pool, db.OrganizationInsertParams{
		ID: org, Name: "Demo", CreatedAt: now,
	}))
	require.NoError(t, sample.Load(ctx, pool, keeper(t), org, now))
	require.ErrorIs(t, sample.Load(ctx, pool, keeper(t), org, now), sample.ErrLoaded)
	clean(t, pool)
	require.Equal(t, 300, count(t, pool, "partners"))
	require.Greater(t, count(t, pool, "sales"), 1500)
	require.Greater(t, count(t, pool, "clicks"), 7000)
	require.Equal(t, 3, count(t, pool, "(SELECT DISTINCT currency FROM sales)"))
	require.Greater(t, count(t, pool, "(SELECT 1 FROM sales WHERE refunded_at IS NOT NULL)"), 40)
	for _, status := range []string{"pending", "approved", "due", "paid", "voided", "rejected"} {
		require.Positive(t, count(t, pool, "(SELECT 1 FROM commissions WHERE status = '"+status+"')"), status)
	}
	for _, table := range []string{"clicks", "referrals", "customers", "sales", "commissions", "partners"} {
		require.Zero(t,
			count(t, pool, "(SELECT 1 FROM "+table+" WHERE created_at > '2026-09-01T12:00:00Z' OR id NOT LIKE 'sample%')"),
			table)
	}
	require.Equal(t, []int{5, 5, 2, 3}, []int{
		count(t, pool, "resources"), count(t, pool, "campaigns"), count(t, pool, "sequences"),
		count(t, pool, "sequence_steps"),
	})
	require.Greater(t, count(t, pool, "sequence_enrolments"), 100)
	require.NoError(t, ledger.NewFolder(pool).Fold(ctx))
	clean(t, pool)
	require.NoError(t, sample.Clear(ctx, pool, org))
	for _, table := range []string{
		"programs", "partners", "sales", "commissions", "clicks", "balances", "resources", "campaigns", "campaign_recipients",
		"sequences",
	} {
		require.Zero(t, count(t, pool, table), table)
	}
	clean(t, pool)
	require.NoError(t, sample.Load(ctx, pool, keeper(t), org, now))
	clean(t, pool)
}

func clean(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	findings, err := check.Run(context.Background(), pool)
	require.NoError(t, err)
	require.Empty(t, findings)
}

func count(t *testing.T, pool *pgxpool.Pool, from string) (n int) {
	t.Helper()
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM "+from+" x").Scan(&n))
	return n
}
