package jobs

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/harness/pgtest"
)

// visited are clicks and referrals of 150, 120 and 0 days ago in separate partitions (see months): of the first,
// one brought a customer and one is of a visitor whose referral is still open.
var visited = []string{
	`UPDATE programs SET created_at = now() - interval '200 days'`,
	`INSERT INTO referrals (id, org_id, program_id, partner_id, link_id, visitor, current, tracked_by, status, expires_at, created_at, updated_at)
		SELECT id_at('ref_', now() - v.days * interval '1 day') || v.name, 'org_1', 'prg_1', 'part_' || v.partner, 'lnk_' || v.partner, v.name::bytea, v.name = 'open', 'link',
			CASE v.name WHEN 'paid' THEN 'converted' ELSE 'visit' END, now() - (v.days - 30) * interval '1 day', now() - v.days * interval '1 day', now()
		FROM (VALUES (150, 'idle', 0), (150, 'paid', 0), (150, 'open', 1), (120, 'late', 1), (0, 'new', 0)) v (days, name, partner)`,
	`INSERT INTO clicks (id, org_id, program_id, partner_id, link_id, referral_id, param, ip_hash, user_agent, country, created_at, source, medium, campaign, referrer, device)
		SELECT id_at('clk_', r.created_at) || n || encode(r.visitor, 'escape'), r.org_id, r.program_id, r.partner_id, r.link_id, r.id, 'ref', 'x', 'Firefox', 'DE', r.created_at,
			CASE WHEN n > 1 THEN 'source ' || n END, 'social', 'spring', 'blog.example', CASE WHEN n = 1 THEN 'mobile' END
		FROM referrals r, generate_series(1, 3) n`,
	`INSERT INTO customers (id, org_id, program_id, identifier, status, tracked_by, partner_id, link_id, referral_id, click_id, lead_at, created_at, updated_at)
		SELECT 'cus_1', 'org_1', 'prg_1', 'x', 'lead', 'link', k.partner_id, k.link_id, k.referral_id, k.id, now(), now(), now() FROM clicks k WHERE k.id LIKE '%1paid'`,
}

// figures returns the counts of clicks and referrals of a program, its partners and its links.
func figures(t *testing.T, pool *pgxpool.Pool) (out []int64) {
	t.Helper()
	g, err := queries.ProgramStats(t.Context(), pool, db.ProgramStatsParams{OrgID: "org_1", Ids: []string{"prg_1"}})
	require.NoError(t, err)
	p, err := queries.PartnerStats(t.Context(), pool, db.PartnerStatsParams{OrgID: "org_1", Ids: []string{"part_0", "part_1"}})
	require.NoError(t, err)
	l, err := queries.LinkStats(t.Context(), pool, db.LinkStatsParams{OrgID: "org_1", Ids: []string{"lnk_0", "lnk_1"}})
	require.NoError(t, err)
	out = append(out, g[0].Clicks, g[0].Referrals)
	of := map[string][]int64{}
	for _, x := range p {
		of[x.ID] = []int64{x.Clicks, x.Referrals}
	}
	for _, x := range l {
		of[x.ID] = []int64{x.Clicks, x.Referrals}
	}
	for _, id := range []string{"part_0", "part_1", "lnk_0", "lnk_1"} {
		out = append(out, of[id]...)
	}
	return out
}

// clean compares the sums of reports and lists with the rows.
func clean(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	days, err := queries.AuditReportDays(t.Context(), pool)
	require.NoError(t, err)
	require.Empty(t, days)
	tallies, err := queries.AuditTallies(t.Context(), pool)
	require.NoError(t, err)
	require.Empty(t, tallies)
}

func TestForgottenClicksAreCounted(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	months(t, pool, "clicks", "clk_", 140, 100)
	for _, sql := range append(append([]string{}, tallied...), visited...) {
		_, err := pool.Exec(t.Context(), sql)
		require.NoError(t, err, sql)
	}
	m, now := Deps{Pool: pool, Clock: clock.System{}, ClickRetentionDays: 90}, clock.System{}.Now()
	counted := []int64{15, 5, 9, 3, 6, 2, 9, 3, 6, 2}
	listed := func(want int64) {
		t.Helper()
		total, err := queries.ClickTotal(t.Context(), pool, db.ClickTotalParams{ProgramID: "prg_1", OrgID: "org_1"})
		require.NoError(t, err)
		require.Equal(t, want, total)
		require.Equal(t, []int64{want}, rows[int64](t, pool, "SELECT count(*) FROM clicks"))
		partner, link := "part_1", "lnk_0"
		none, err := queries.ClickTotal(t.Context(), pool, db.ClickTotalParams{
			ProgramID: "prg_1", OrgID: "org_1", PartnerID: &partner, LinkID: &link,
		})
		require.NoError(t, err)
		require.Zero(t, none, "the link is another partner's")
	}
	origins := func() []string {
		return rows[string](t, pool, `SELECT concat_ws('|', coalesce(source, ''), medium, campaign, referrer, country, coalesce(device, ''), sum(clicks))
			FROM clicks_counted GROUP BY coalesce(source, ''), medium, campaign, referrer, country, coalesce(device, '') ORDER BY 1`)
	}
	from := []string{
		"source 2|social|spring|blog.example|DE||5", "source 3|social|spring|blog.example|DE||5", "|social|spring|blog.example|DE|mobile|5",
	}
	require.Equal(t, from, origins())
	require.Equal(t, counted, figures(t, pool))
	require.NoError(t, forgetClicks(Deps{Pool: pool}).Run(t.Context(), now))
	listed(15) // kept by default

	job := forgetClicks(m)
	require.NoError(t, job.Run(t.Context(), now))
	require.Equal(t, counted, figures(t, pool), "before a day is summed")
	require.Equal(t, from, origins())
	clean(t, pool)
	listed(7) // the click of the customer, three of the open referral, three of today
	require.Equal(t, []bool{true}, rows[bool](t, pool, `SELECT DISTINCT k.ip_hash IS NULL AND k.user_agent IS NULL AND k.country = 'DE'
		FROM clicks k WHERE k.created_at < now() - interval '90 days'`), "what tells of a person goes")
	require.Equal(t, []string{"converted", "visit", "visit"}, rows[string](t, pool, "SELECT status FROM referrals ORDER BY status, id"),
		"the customer's, the open one and today's")

	require.NoError(t, sumReports(m).Run(t.Context(), now))
	require.Equal(t, counted, figures(t, pool), "when days are summed")
	clean(t, pool)
	listed(7)
	require.NoError(t, job.Run(t.Context(), now))
	require.Equal(t, counted, figures(t, pool), "nothing is counted twice")
	require.Equal(t, []int64{0}, rows[int64](t, pool, "SELECT make_partitions('clicks', 'clk_')"))

	_, err := pool.Exec(t.Context(), "DELETE FROM partners WHERE id = 'part_1'")
	require.NoError(t, err)
	require.Equal(t, []int64{9, 3}, rows[int64](t, pool, `SELECT sum(clicks)::bigint FROM clicks_counted UNION ALL
		SELECT sum(total)::bigint FROM tally_sums WHERE list IN ('referrals', 'forgotten_referrals') AND owner_id = ''`))
	tallies, err := queries.AuditTallies(t.Context(), pool)
	require.NoError(t, err)
	require.Empty(t, tallies, "a partner takes its figures along")
}

// TestForgettingGivesWay: the job does not wait for long readers of clicks, and leaves nothing half done.
func TestForgettingGivesWay(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	months(t, pool, "clicks", "clk_", 140, 100)
	for _, sql := range append(append([]string{}, tallied...), visited...) {
		_, err := pool.Exec(t.Context(), sql)
		require.NoError(t, err, sql)
	}
	reader, err := pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = reader.Exec(t.Context(), "SELECT FROM clicks")
	require.NoError(t, err)
	before := clock.System{}.Now().Days(-90)
	months, err := queries.ClicksForget(t.Context(), pool, before)
	require.NoError(t, err)
	require.Zero(t, months)
	require.Equal(t, []int64{15, 0}, rows[int64](t, pool, "SELECT count(*) FROM clicks UNION ALL SELECT count(*) FROM forgotten"))
	require.NoError(t, reader.Rollback(t.Context()))
	taker, err := pool.Begin(t.Context())
	require.NoError(t, err)
	months, err = queries.ClicksForget(t.Context(), taker, before)
	require.NoError(t, err)
	require.Equal(t, int64(1), months)
	// Tables of other tests' databases may have the same numbers.
	locked := rows[string](t, pool, `SELECT relation::regclass::text FROM pg_locks WHERE mode = 'AccessExclusiveLock'
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND relation IN ('partners'::regclass, 'customers'::regclass, 'referrals'::regclass)`)
	require.NoError(t, taker.Commit(t.Context()))
	require.Empty(t, locked, "only clicks are kept from readers")
}
