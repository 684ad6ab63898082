package report

import (
	"context"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/harness/queryplan"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// year fills a year before 2026-09-01 of one program: $n sales and commissions, five times as many clicks, a
// fifth as many customers, 1000 partners of whom few have most.
var year = []string{
	`CREATE FUNCTION pg_temp.at(n int, of int) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$ SELECT timestamptz '2025-09-01 00:00Z' + interval '365 days' * (n::float8 / of) $$`,
	`CREATE FUNCTION pg_temp.of(n int) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT (floor(1000 * ((hashint8extended(n, 1) & 1048575) / 1048576.0::float8) ^ 3)::int)::text $$`,
	`INSERT INTO organizations VALUES ('org_a', 'A', NULL, now())`,
	`INSERT INTO programs (id, org_id, name, product_name, website_url, currency, status, subdomain, cookie_days, url_params, commission_on_net_revenue, holding_period_days,
		min_payout_minor, payout_term, payout_methods, block_self_referrals, blocked_countries, require_tax_forms, auto_payouts_enabled, created_at, updated_at)
		SELECT 'prg_a', 'org_a', 'P', 'P', 'https://p.example', 'USD', 'active', 'p', 30, '{ref}', false, 30, 0, 'net_30', '{}', true, '{}', false, false, '2025-09-01Z', now()`,
	`INSERT INTO groups SELECT 'grp_' || i, 'org_a', 'prg_a', 'G' || i, 'g' || i, NULL, NULL, false, false, now(), now() FROM generate_series(0, 9) i`,
	`INSERT INTO tags SELECT 'tag_' || i, 'org_a', 'prg_a', 'T' || i, '#112233', now(), now() FROM generate_series(0, 9) i`,
	`INSERT INTO partners (id, org_id, program_id, group_id, email, handle, status, created_at, updated_at)
		SELECT 'part_' || i, 'org_a', 'prg_a', 'grp_' || i % 10, i || '@m.example.com', 'm' || i, 'active', now(), now() FROM generate_series(0, 999) i`,
	`INSERT INTO partner_tags SELECT 'org_a', 'prg_a', 'part_' || i, 'tag_' || i % 7 FROM generate_series(0, 999, 2) i`,
	`INSERT INTO clicks (id, org_id, program_id, partner_id, link_id, param, created_at, source, medium, campaign, referrer, country, device)
		SELECT 'clk_' || i, 'org_a', 'prg_a', 'part_' || pg_temp.of(i), CASE WHEN i % 3 > 0 THEN 'lnk_' || pg_temp.of(i) END, 'ref', pg_temp.at(i, $n * 5),
		nullif('source ' || i % 7, 'source 0'), nullif('medium ' || i % 3, 'medium 0'), nullif('campaign ' || i % 50, 'campaign 0'), nullif('site-' || i % 30 || '.example', 'site-0.example'),
		nullif(chr(65 + i % 20) || 'A', 'AA'), nullif(CASE i % 2 WHEN 0 THEN 'mobile' ELSE 'desktop' END, 'x') FROM generate_series(0, $n * 5 - 1) i`,
	`INSERT INTO customers (id, org_id, program_id, partner_id, link_id, status, tracked_by, lead_at, converted_at, created_at, updated_at, source, medium, campaign, referrer, country, device)
		SELECT 'cus_' || i, 'org_a', 'prg_a', CASE WHEN i % 11 > 0 THEN 'part_' || pg_temp.of(i) END, CASE WHEN i % 11 > 0 THEN 'lnk_' || pg_temp.of(i) END, 'active', CASE WHEN i % 4 = 0 THEN 'coupon' ELSE 'link' END, pg_temp.at(i, $n / 5), pg_temp.at(i, $n / 5), now(), now(),
		nullif('source ' || i % 7, 'source 0'), nullif('medium ' || i % 3, 'medium 0'), nullif('campaign ' || i % 50, 'campaign 0'), nullif('site-' || i % 30 || '.example', 'site-0.example'),
		nullif(chr(65 + i % 20) || 'A', 'AA'), CASE i % 2 WHEN 0 THEN 'mobile' ELSE 'desktop' END FROM generate_series(0, $n / 5 - 1) i`,
	`INSERT INTO sales (id, org_id, program_id, customer_id, partner_id, external_charge_id, processor, amount_minor, currency, billing_type, product_name, is_first_sale, activity_outcome, warnings, occurred_at, refunded_at, created_at, updated_at)
		SELECT 'sale_' || i, 'org_a', 'prg_a', 'cus_' || i / 5, CASE WHEN i % 9 > 0 THEN 'part_' || pg_temp.of(i / 5) END, 'ch_' || i, 'api', 4999, 'USD', 'one_time', 'Plan ' || i % 5, i % 5 = 0, 'commission_created', '[]', pg_temp.at(i, $n),
		CASE WHEN i % 40 = 0 THEN now() END, now(), now() FROM generate_series(0, $n - 1) i`,
	`INSERT INTO payouts (id, org_id, program_id, partner_id, batch_id, amount_minor, currency, status, method, period_month, period_end, due_at, paid_at, created_at, updated_at)
		SELECT 'pyt_' || i, 'org_a', 'prg_a', 'part_' || i, 'batch_a', 999, 'USD', 'paid', 'paypal', '2025-09-01', '2025-10-01Z', '2025-10-01Z', timestamptz '2025-10-01 12:00Z' + i * interval '3 days', now(), now() FROM generate_series(0, 99) i`,
	`INSERT INTO commissions (id, org_id, program_id, partner_id, sale_id, customer_id, kind, amount_minor, revenue_minor, rate_type, rate_value, currency, status, payout_id, created_at, updated_at)
		SELECT 'com_' || i, 'org_a', 'prg_a', 'part_' || pg_temp.of(i / 5), 'sale_' || i, 'cus_' || i / 5, 'referral', 999, 4999, 'percent', 2000, 'USD', CASE WHEN i % 3 = 0 THEN 'paid' ELSE 'due' END, CASE WHEN i % 3 = 0 THEN 'pyt_' || i / 3 % 100 END,
		now(), now() FROM generate_series(0, $n - 1) i`,
}

// TestSpeed measures: RAIL_TEST_REPORT_ROWS=1000000 go test -v -run Speed ./server/money/report.
func TestSpeed(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("RAIL_TEST_REPORT_ROWS"))
	if err != nil {
		t.Skip("set RAIL_TEST_REPORT_ROWS to measure")
	}
	ctx := t.Context()
	pool := pgtest.New(t)
	conn, err := pool.Acquire(ctx)
	require.NoError(t, err)
	defer conn.Release()
	start := time.Now()
	for _, sql := range append([]string{
		"SET statement_timeout = 0", "SET jit = off", "SET work_mem = '32MB'", "SET session_replication_role = replica",
	}, year...) {
		_, err := conn.Exec(ctx, strings.ReplaceAll(sql, "$n", strconv.Itoa(n)), pgx.QueryExecModeSimpleProtocol)
		require.NoError(t, err, sql)
	}
	_, err = conn.Exec(ctx, "VACUUM ANALYZE")
	require.NoError(t, err)
	t.Logf("filled in %s", time.Since(start))
	end := time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)
	q := Query{
		OrgID: "org_a", ProgramID: "prg_a", From: end.AddDate(-1, 0, 14), To: end, Currency: "USD", ProgramCurrency: "USD",
		By: Partner, Zone: "UTC",
	}
	t.Logf("from the rows, by partner: %s", cost(ctx, t, conn.Conn(), q))
	start = time.Now()
	require.NoError(t, Sum(ctx, pool, clock.At(end.AddDate(0, 0, 1).Add(3*time.Hour))))
	t.Logf("summed in %s", time.Since(start))
	_, err = conn.Exec(ctx, "ANALYZE")
	require.NoError(t, err)
	var rows, size int
	require.NoError(t, conn.QueryRow(ctx, "SELECT count(*), pg_total_relation_size('report_sums') FROM report_sums").Scan(&rows, &size))
	t.Logf("%d sums, %d MB", rows, size/1e6)
	group, partner := "grp_3", "part_0"
	if os.Getenv("RAIL_TEST_LOG") != "" {
		var c queryplan.Capture
		_, _ = queries.ReportRows(ctx, &c, q.params())
		rows, err := conn.Query(ctx, "EXPLAIN (ANALYZE, BUFFERS) "+c.SQL, c.Args...)
		require.NoError(t, err)
		plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		t.Log(strings.Join(plan, "\n"))
	}
	for _, by := range append([]By{Partner, Link, Product, Group, Tag, Period, cohort}, Origins...) {
		for _, filter := range []string{"", "group", "partner"} {
			q.By, q.Bucket, q.GroupID, q.PartnerID = by, "", nil, nil
			if by == Period || by == cohort {
				q.Bucket = "month"
			}
			switch filter {
			case "group":
				q.GroupID = &group
			case "partner":
				q.PartnerID = &partner
			}
			t.Logf("by %s, filter %q: %s", by, filter, cost(ctx, t, conn.Conn(), q))
		}
	}
	q.Attribution, q.GroupID, q.PartnerID = PartnersOnly, nil, nil
	for _, by := range append([]By{cohort}, Origins...) {
		q.By, q.Bucket = by, "month"
		t.Logf("by %s, of partners: %s", by, cost(ctx, t, conn.Conn(), q))
	}
	q.Attribution = Everything
	q.Origin = map[By]string{Source: "source 1"}
	for _, by := range []By{Partner, Group, Period} {
		q.By = by
		t.Logf("by %s, of a source: %s", by, cost(ctx, t, conn.Conn(), q))
	}
	q.By, q.From = Campaign, end.AddDate(0, 0, -10)
	t.Logf("ten days by campaign, of a source, from rows: %s", cost(ctx, t, conn.Conn(), q))
	q.Origin, q.From = nil, end.AddDate(-1, 0, 14)
	q.By, q.Bucket = Period, "day"
	t.Logf("by day: %s", cost(ctx, t, conn.Conn(), q))
}

// cost returns the database's time for a query: planning and execution.
func cost(ctx context.Context, t *testing.T, conn *pgx.Conn, q Query) time.Duration {
	t.Helper()
	var c queryplan.Capture
	_, _ = queries.ReportRows(ctx, &c, q.params())
	best := time.Hour
	for range 3 {
		var raw []byte
		require.NoError(t, conn.QueryRow(ctx, "EXPLAIN (ANALYZE, FORMAT JSON) "+c.SQL, c.Args...).Scan(&raw))
		var plan []struct {
			Planning float64 `json:"Planning Time"`
			Running  float64 `json:"Execution Time"`
		}
		require.NoError(t, json.Unmarshal(raw, &plan))
		best = min(best, time.Duration((plan[0].Planning+plan[0].Running)*float64(time.Millisecond)))
	}
	return best
}
