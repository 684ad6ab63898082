package scale

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/harness/dataset"
)

// sameTotals compares the totals computed from sums with counts of the rows.
func sameTotals(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	q, program := db.New(), dataset.ID("prg", 0)
	count := func(table, where string, args ...any) int64 {
		var n int64
		sql := "SELECT count(*) FROM " + table + " WHERE program_id = $1 AND " + where
		require.NoError(t, pool.QueryRow(t.Context(), sql, append([]any{program}, args...)...).Scan(&n))
		return n
	}
	partner, other, link, yes, no := dataset.ID("part", 0), dataset.ID("part", 7), dataset.ID("lnk", 0), true, false
	for _, of := range []*string{nil, &partner, &other} {
		got, err := q.ClickTotal(t.Context(), pool, db.ClickTotalParams{
			ProgramID: program, OrgID: dataset.Big, PartnerID: of,
		})
		require.NoError(t, err)
		require.Equal(t, count("clicks", "($2::text IS NULL OR partner_id = $2)", of), got)
		for list, statuses := range map[string][]string{
			"customers": nil, "commissions": {"due", "paid"}, "payouts": {"paid"}, "referrals": {"visit"},
		} {
			got, err = q.TallyTotal(t.Context(), pool, db.TallyTotalParams{
				ProgramID: program, OrgID: dataset.Big, List: list, OwnerID: of, Statuses: statuses,
			})
			require.NoError(t, err)
			require.Equal(t,
				count(list, "($2::text IS NULL OR partner_id = $2) AND ($3::text[] IS NULL OR status = ANY ($3))", of, statuses),
				got, list)
		}
		got, err = q.ClickTotal(t.Context(), pool, db.ClickTotalParams{
			ProgramID: program, OrgID: dataset.Big, PartnerID: of, LinkID: &link,
		})
		require.NoError(t, err)
		require.Equal(t, count("clicks", "($2::text IS NULL OR partner_id = $2) AND link_id = $3", of, link), got)
		for _, after := range []*clock.Time{nil, at(-40), at(-20), at(-1)} {
			for _, before := range []*clock.Time{nil, at(-300), at(-10), at(1)} {
				for _, refunded := range []*bool{nil, &yes, &no} {
					got, err := q.SaleTotal(t.Context(), pool, db.SaleTotalParams{
						ProgramID: program, OrgID: dataset.Big, PartnerID: of, OccurredAfter: after, OccurredBefore: before,
						Refunded: refunded,
					})
					require.NoError(t, err)
					want := count("sales", `($2::text IS NULL OR partner_id = $2)
						AND ($3::timestamptz IS NULL OR occurred_at >= $3) AND ($4::timestamptz IS NULL OR occurred_at < $4)
						AND ($5::boolean IS NULL OR (refunded_at IS NOT NULL) = $5)`, of, after, before, refunded)
					require.Equal(t, want, got, "%v %v %v", after, before, refunded)
				}
			}
		}
	}
	stats, err := q.ProgramStats(t.Context(), pool, db.ProgramStatsParams{
		OrgID: dataset.Big, Ids: []string{program, dataset.ID("prg", 1), dataset.ID("prg", 19)},
	})
	require.NoError(t, err)
	require.Len(t, stats, 2, "the last is another organization's")
	for _, s := range stats {
		program = s.ID
		require.Equal(t, count("clicks", "true"), s.Clicks)
		require.Equal(t, count("customers", "true"), s.Customers)
		require.Equal(t, count("referrals", "true"), s.Referrals)
		require.Equal(t, count("sales", "currency = 'USD' AND refunded_at IS NULL")*4999, s.SalesMinor)
		require.Equal(t,
			count("commissions", "currency = 'USD' AND status NOT IN ('rejected', 'voided') AND amount_minor > 0")*1000-
				count("commissions", "currency = 'USD' AND status NOT IN ('rejected', 'voided') AND amount_minor < 0")*999,
			s.CommissionsMinor)
	}
	program = dataset.ID("prg", 0)
	foreign, err := q.ClickTotal(t.Context(), pool, db.ClickTotalParams{ProgramID: program, OrgID: dataset.Small})
	require.NoError(t, err)
	require.Zero(t, foreign)
}

// at returns a time days from the end of the dataset, not at midnight: days that are
// cut must be counted by rows.
func at(days int64) *clock.Time {
	t := clock.At(until.Days(days).Add(-7 * 3600e9))
	return &t
}

// touchDay changes a summed day and marks it, as the API does.
func touchDay(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	for _, sql := range []string{
		"DELETE FROM clicks WHERE program_id = $1 AND created_at >= timestamptz '2026-08-11Z' AND created_at < timestamptz '2026-08-12Z'",
		"UPDATE sales SET refunded_at = created_at WHERE program_id = $1 AND occurred_at >= timestamptz '2026-08-11Z' AND occurred_at < timestamptz '2026-08-12Z'",
		`INSERT INTO report_marks (org_id, program_id, day, first_at, last_at)
			SELECT org_id, id, '2026-08-11', timestamptz '2026-08-11Z', timestamptz '2026-08-11 23:59:59.999999Z'
			FROM programs WHERE id = $1`,
	} {
		done, err := pool.Exec(t.Context(), sql, dataset.ID("prg", 0))
		require.NoError(t, err)
		require.NotZero(t, done.RowsAffected(), sql)
	}
}
