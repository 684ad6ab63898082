package list_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/list"
	"rail/server/work"
)

// tallied makes a program with n entries of two actions in its audit log.
func tallied(t *testing.T, n int) *pgxpool.Pool {
	t.Helper()
	pool := pgtest.New(t)
	for _, sql := range []string{
		`INSERT INTO organizations VALUES ('org_1', 'Count', NULL, now())`,
		`INSERT INTO programs (id, org_id, name, product_name, website_url, currency, status, subdomain, cookie_days, url_params,
			commission_on_net_revenue, holding_period_days, min_payout_minor, payout_term, payout_methods, block_self_referrals,
			blocked_countries, require_tax_forms, auto_payouts_enabled, created_at, updated_at)
			VALUES ('prg_1', 'org_1', 'P', 'P', 'https://p.example', 'USD', 'active', 'p', 30, '{ref}', false, 30, 0, 'net_30',
			'{}', true, '{}', false, false, now(), now())`,
	} {
		_, err := pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	_, err := pool.Exec(t.Context(), `INSERT INTO audit_log_entries (id, org_id, program_id, action, target_id, created_at)
		SELECT 'aud_' || g, 'org_1', 'prg_1', CASE g % 3 WHEN 0 THEN 'sale.updated' ELSE 'sale.created' END, 'sale_' || g % 10, now()
		FROM generate_series(1, $1::int) g`, n)
	require.NoError(t, err)
	return pool
}

// counted returns the count of a list like a page.
func counted(t *testing.T, pool *pgxpool.Pool, l list.Counted) int64 {
	t.Helper()
	u := work.NewRun(pool, work.Actor{}, clock.Time{}).For("org_1")
	c := list.NewCount(l, db.Scope{ProgramID: "prg_1", OrgID: "org_1"})
	require.NoError(t, u.Together(t.Context(), c.First(t.Context())))
	require.NoError(t, c.Rest(t.Context(), u))
	return c.Rows()
}

// TestCount: both ways to count a list give the same number.
func TestCount(t *testing.T) {
	t.Parallel()
	created, target := "sale.created", "sale_1"
	for _, n := range []int{0, 30, 9000} {
		pool := tallied(t, n)
		require.EqualValues(t, n, counted(t, pool, db.AuditLogList{}))
		require.EqualValues(t, n/3*2, counted(t, pool, db.AuditLogList{Action: &created}))
		require.EqualValues(t, n/10, counted(t, pool, db.AuditLogList{TargetID: &target}))
		require.EqualValues(t, 0, counted(t, pool, db.TagList{}))
	}
}

// TestLongIsNotCountedByRow: a long list is counted by its tallies, a short one by its rows.
func TestLongIsNotCountedByRow(t *testing.T) {
	t.Parallel()
	pool := tallied(t, 6000)
	_, err := pool.Exec(t.Context(), "UPDATE tally_entries SET difference = 2 * difference")
	require.NoError(t, err)
	updated, target := "sale.updated", "sale_1"
	require.EqualValues(t, 12000, counted(t, pool, db.AuditLogList{}))
	require.EqualValues(t, 2000, counted(t, pool, db.AuditLogList{Action: &updated}))
	require.EqualValues(t, 600, counted(t, pool, db.AuditLogList{TargetID: &target}), "tallies do not know targets")
}

// TestSelectiveFilter: a list with a selective filter is not counted by row.
func TestSelectiveFilter(t *testing.T) {
	t.Parallel()
	refunded, customer, partner := true, "cus_1", "part_1"
	require.True(t, db.SaleList{Refunded: &refunded}.Total().Picky)
	require.False(t, db.SaleList{PartnerID: &partner}.Total().Picky)
	require.Nil(t, db.SaleList{Refunded: &refunded, CustomerID: &customer}.Total(), "a customer's sales are few")
	require.Nil(t, db.PayoutList{PartnerID: &partner, BatchID: &customer}.Total(), "tallies know one owner at a time")
}

// TestBy: rows are counted by owner.
func TestBy(t *testing.T) {
	t.Parallel()
	pool := tallied(t, 0)
	_, err := pool.Exec(t.Context(),
		`INSERT INTO partners (id, org_id, program_id, email, handle, status, created_at, updated_at)
		SELECT 'part_' || g, 'org_1', 'prg_1', g || '@example.com', 'p-' || g, 'active', now(), now() FROM generate_series(1, 2) g`)
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(),
		`INSERT INTO referrals (id, org_id, program_id, partner_id, visitor, tracked_by, status, expires_at,
			created_at, updated_at)
		SELECT 'ref_' || g, 'org_1', 'prg_1', 'part_1', uuid_send(gen_random_uuid()), 'link', 'visit', now(), now(), now() FROM generate_series(1, 3) g`)
	require.NoError(t, err)
	in := db.Scope{ProgramID: "prg_1", OrgID: "org_1"}
	got, err := list.CountBy(t.Context(), pool, "referrals", in, []string{"part_1", "part_2"})
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"part_1": 3}, got)
	in.OrgID = "org_2"
	got, err = list.CountBy(t.Context(), pool, "referrals", in, []string{"part_1"})
	require.NoError(t, err)
	require.Empty(t, got, "another organization's")
}
