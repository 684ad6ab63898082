package sample

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/ident"
	"rail/server/secret"
)

// values counts the values of a column.
func values(t *testing.T, pool *pgxpool.Pool, table, column string) map[string]int {
	t.Helper()
	rows, err := pool.Query(t.Context(), "SELECT "+column+"::text, count(*) FROM "+table+" GROUP BY 1")
	require.NoError(t, err)
	out := map[string]int{}
	for rows.Next() {
		var value string
		var n int
		require.NoError(t, rows.Scan(&value, &n))
		out[value] = n
	}
	require.NoError(t, rows.Err())
	return out
}

// Money is in every state on any day of loading, even in a small sample.
func TestEveryDay(t *testing.T) {
	t.Parallel()
	keeper, err := secret.New([32]byte{1})
	require.NoError(t, err)
	pool := pgtest.New(t)
	for days := range 13 {
		now := clock.At(time.Date(2026, 1, 1, 0, 5, 0, 0, time.UTC).AddDate(0, 0, 31*days))
		org := ident.New(ident.Organization)
		require.NoError(t, db.New().OrganizationInsert(t.Context(), pool, db.OrganizationInsertParams{
			ID: org, Name: "Demo", CreatedAt: now,
		}))
		require.NoError(t, load(t.Context(), pool, keeper, org, now, size{partners: 100, clicks: 2000, customers: 300}), now)
		for column, states := range map[string][]string{
			"payouts status":     {"pending", "processing", "paid", "failed", "not_eligible"},
			"commissions status": {"pending", "approved", "due", "paid", "rejected", "voided"},
			"commissions kind":   {"referral", "reward", "clawback"},
		} {
			table, column, _ := strings.Cut(column, " ")
			counts := values(t, pool, table, column)
			for _, state := range states {
				require.Positive(t, counts[state], "%s of %s at %s", state, table, now)
			}
		}
		require.NoError(t, Clear(t.Context(), pool, org))
	}
}
