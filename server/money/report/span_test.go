package report

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/harness/queryplan"
)

// filled returns a program's year of n sales, not summed yet.
func filled(t *testing.T, n string) *pgxpool.Pool {
	t.Helper()
	pool := pgtest.New(t)
	conn, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	for _, sql := range append(append([]string{"SET session_replication_role = replica"}, year...),
		"RESET session_replication_role") {
		_, err := conn.Exec(t.Context(), strings.ReplaceAll(sql, "$n", n), pgx.QueryExecModeSimpleProtocol)
		require.NoError(t, err, sql)
	}
	return pool
}

// random returns a query of some days of the year.
func random(rnd *rand.Rand) Query {
	from := time.Date(2025, 8, 25, 0, 0, 0, 0, time.UTC).AddDate(0, 0, rnd.IntN(370))
	q := Query{
		OrgID: "org_a", ProgramID: "prg_a", From: from, To: from.AddDate(0, 0, rnd.IntN(1+rnd.IntN(380))),
		Zone: "UTC", Currency: "USD", ProgramCurrency: "USD", Origin: map[By]string{},
	}
	dimensions := append([]By{Partner, Link, Product, Group, Tag, Period, all, cohort}, Origins...)
	q.By = dimensions[rnd.IntN(len(dimensions))]
	switch q.By {
	case Period:
		q.Bucket = []string{"day", "week", "month"}[rnd.IntN(3)]
	case cohort:
		q.Bucket = "month"
	}
	switch rnd.IntN(4) {
	case 0:
		q.GroupID = new(fmt.Sprintf("grp_%d", rnd.IntN(10)))
	case 1:
		q.PartnerID = new(fmt.Sprintf("part_%d", rnd.IntN(3)))
	case 2:
		q.Attribution = []Attribution{PartnersOnly, DirectOnly}[rnd.IntN(2)]
	}
	for range rnd.IntN(3) {
		by := Origins[rnd.IntN(len(Origins))]
		q.Origin[by] = map[By][]string{
			Source: {"", "source 1"}, Medium: {"", "medium 1"}, Campaign: {"", "campaign 14"},
			Referrer: {"", "site-1.example"}, Country: {"", "CA"}, Device: {"", "mobile"}, TrackedBy: {"", "link"},
		}[by][rnd.IntN(2)]
	}
	return q
}

// recount computes a query by the definition of its figures, without report_facts and sums. It returns the figures by
// key, in the order of Figures.
func recount(t *testing.T, tx pgx.Tx, q Query) map[string][]int64 {
	t.Helper()
	key, from := "''", ""
	switch {
	case q.By == Period:
		key = fmt.Sprintf("date_trunc('%s', f.at AT TIME ZONE '%s')::date::text", q.Bucket, q.Zone)
	case q.By == Partner:
		key = "coalesce(f.partner_id, 'direct')"
	case q.By == Link:
		key = "CASE WHEN f.partner_id IS NULL THEN 'direct' ELSE coalesce(f.link_id, '') END"
	case q.By == Product:
		key = "coalesce(f.product_name, '')"
	case q.By == Group:
		key = "coalesce((SELECT p.group_id FROM partners p WHERE p.id = f.partner_id), 'direct')"
	case q.By == Tag:
		key = "CASE WHEN f.partner_id IS NULL THEN 'direct' ELSE coalesce(t.tag_id, '') END"
		from = "LEFT JOIN partner_tags t ON t.partner_id = f.partner_id"
	case q.By.Original():
		key = fmt.Sprintf("coalesce(f.%s, '')", q.By)
	}
	where := []string{"true"}
	for by, value := range q.Origin {
		where = append(where, fmt.Sprintf("coalesce(f.%s, '') = '%s'", by, value))
	}
	if q.PartnerID != nil {
		where = append(where, fmt.Sprintf("f.partner_id = '%s'", *q.PartnerID))
	}
	if q.GroupID != nil {
		where = append(where, fmt.Sprintf("f.partner_id IN (SELECT id FROM partners WHERE group_id = '%s')", *q.GroupID))
	}
	switch q.Attribution {
	case PartnersOnly:
		where = append(where, "f.partner_id IS NOT NULL")
	case DirectOnly:
		where = append(where, "f.partner_id IS NULL")
	}
	if q.By == Product {
		where = append(where, "f.clicks + f.leads = 0")
	}
	const origin = "c.source, c.medium, c.campaign, c.referrer, c.country, c.device, CASE WHEN c.partner_id IS NOT NULL THEN c.tracked_by END AS tracked_by"
	rows, err := tx.Query(t.Context(), `WITH f AS (
		SELECT k.created_at AS at, k.partner_id, k.link_id, NULL AS product_name, k.source, k.medium, k.campaign, k.referrer, k.country, k.device, 'link' AS tracked_by,
			1 AS clicks, 0 AS leads, 0 AS customers, 0 AS sales, 0 AS refunded, 0 AS revenue, 0 AS commissions, 0 AS paid FROM clicks k
		UNION ALL SELECT c.lead_at, c.partner_id, c.link_id, NULL, `+origin+`, 0, 1, 0, 0, 0, 0, 0, 0 FROM customers c
		UNION ALL SELECT c.converted_at, c.partner_id, c.link_id, s.product_name, `+origin+`, 0, 0, 1, 0, 0, 0, 0, 0
			FROM customers c LEFT JOIN sales s ON s.customer_id = c.id AND s.is_first_sale
		UNION ALL SELECT s.occurred_at, s.partner_id, CASE WHEN s.partner_id IS NOT NULL THEN c.link_id END, s.product_name, `+origin+`, 0, 0, 0, 1,
			(s.refunded_at IS NOT NULL)::int, CASE WHEN s.refunded_at IS NULL THEN s.amount_minor ELSE 0 END, 0, 0 FROM sales s JOIN customers c ON c.id = s.customer_id
		UNION ALL SELECT s.occurred_at, k.partner_id, c.link_id, s.product_name, `+origin+`, 0, 0, 0, 0, 0, 0, k.amount_minor, 0
			FROM commissions k JOIN sales s ON s.id = k.sale_id JOIN customers c ON c.id = s.customer_id
		UNION ALL SELECT y.paid_at, k.partner_id, c.link_id, s.product_name, `+origin+`, 0, 0, 0, 0, 0, 0, 0, k.amount_minor
			FROM payouts y JOIN commissions k ON k.payout_id = y.id JOIN sales s ON s.id = k.sale_id JOIN customers c ON c.id = s.customer_id
	) SELECT `+key+`, sum(f.clicks), sum(f.leads), sum(f.customers), sum(f.sales), sum(f.refunded), sum(f.revenue), sum(f.commissions), sum(f.paid)
		FROM f `+from+` WHERE (f.at AT TIME ZONE '`+q.Zone+`')::date BETWEEN $1 AND $2 AND `+strings.Join(where, " AND ")+` GROUP BY 1`, q.From, q.To)
	require.NoError(t, err)
	out := map[string][]int64{}
	var of string
	n := make([]int64, 8)
	_, err = pgx.ForEachRow(rows, []any{&of, &n[0], &n[1], &n[2], &n[3], &n[4], &n[5], &n[6], &n[7]}, func() error {
		out[of] = slices.Clone(n)
		return nil
	})
	require.NoError(t, err)
	return out
}

func everyFigure(r db.ReportRowsRow) []int64 {
	return []int64{
		r.Clicks, r.Leads, r.Customers, r.Sales, r.Refunded, r.RevenueMinor, r.CommissionsMinor, r.PaidMinor,
	}
}

func cohortFigures(r db.ReportRowsRow) []int64 { return []int64{r.Customers, r.Sales, r.RevenueMinor} }

// recountCohorts counts the customers, sales and revenue of each cohort and month.
func recountCohorts(t *testing.T, tx pgx.Tx, q Query) map[string][]int64 {
	t.Helper()
	rows, err := tx.Query(t.Context(), `SELECT to_char(c.converted_at AT TIME ZONE $3, 'YYYY-MM') || ' ' || to_char(s.occurred_at AT TIME ZONE $3, 'YYYY-MM'),
		count(DISTINCT s.customer_id), count(*), sum(CASE WHEN s.refunded_at IS NULL THEN s.amount_minor ELSE 0 END)
		FROM sales s JOIN customers c ON c.id = s.customer_id WHERE (s.occurred_at AT TIME ZONE $3)::date BETWEEN $1 AND $2 GROUP BY 1`, q.From, q.To, q.Zone)
	require.NoError(t, err)
	out := map[string][]int64{}
	var of string
	n := make([]int64, 3)
	_, err = pgx.ForEachRow(rows, []any{&of, &n[0], &n[1], &n[2]}, func() error {
		out[of] = slices.Clone(n)
		return nil
	})
	require.NoError(t, err)
	return out
}

// Reports by any dimension and filter equal a count of the rows by the definitions, whatever is summed.
func TestSumsAreARecount(t *testing.T) {
	t.Parallel()
	ctx, pool, rnd := t.Context(), filled(t, "1000"), rand.New(rand.NewPCG(3, 16))
	_, err := pool.Exec(ctx, "UPDATE sales SET occurred_at = date_trunc('day', occurred_at) WHERE id > 'sale_5'")
	require.NoError(t, err, "customers with several first sales of the month, some without a partner")
	now := clock.At(time.Date(2026, 9, 1, 3, 0, 0, 0, time.UTC))
	for round := range 90 {
		if round == 30 {
			_, err := pool.Exec(ctx, "UPDATE programs SET time_zone = 'Asia/Kolkata', zone_changed_at = $1", now.Days(-1))
			require.NoError(t, err)
		}
		if round%15 == 14 {
			require.NoError(t, Sum(ctx, pool, now))
		}
		q := random(rnd)
		if round >= 30 {
			q.Zone = "Asia/Kolkata"
		}
		count, figures := recount, everyFigure
		if q.By == cohort {
			count, figures = recountCohorts, cohortFigures
			q.From, q.Attribution, q.PartnerID, q.GroupID, q.Origin = clock.MonthOf(q.From), Everything, nil, nil, nil
		}
		withRollback(t, pool, func(tx pgx.Tx) {
			have, err := queries.ReportRows(ctx, tx, q.params())
			require.NoError(t, err)
			got := map[string][]int64{}
			for _, r := range have {
				if r.Direct {
					r.Key = Direct
				}
				if n := figures(r); slices.Max(n) > 0 {
					got[r.Key] = n
				}
			}
			require.Equal(t, count(t, tx, q), got, "round %d: %+v", round, q)
			requireCompared(t, tx, q)
		})
	}
}

// Reports of any days equal those from rows, whatever is summed or marked, also before it is summed again.
func TestSpansAreTheirRows(t *testing.T) {
	t.Parallel()
	ctx, pool, rnd := t.Context(), filled(t, "2000"), rand.New(rand.NewPCG(7, 7))
	now := clock.At(time.Date(2026, 9, 1, 3, 0, 0, 0, time.UTC))
	for round := range 60 {
		q := random(rnd)
		withRollback(t, pool, func(tx pgx.Tx) {
			have, err := queries.ReportRows(ctx, tx, q.params())
			require.NoError(t, err)
			requireCompared(t, tx, q)
			_, err = tx.Exec(ctx, "UPDATE report_spans SET program_id = 'hidden'")
			require.NoError(t, err)
			want, err := queries.ReportRows(ctx, tx, q.params())
			require.NoError(t, err)
			if q.By != Product { // others are named by ReportLabels
				for i := range want {
					want[i].Label = ""
				}
				for i := range have {
					have[i].Label = ""
				}
			}
			require.ElementsMatch(t, want, have, "round %d: %+v", round, q)
		})
		_, err := pool.Exec(ctx, `WITH s AS (UPDATE sales SET amount_minor = amount_minor + 1
			WHERE id = ANY ($1) RETURNING occurred_at)
			INSERT INTO report_marks (org_id, program_id, day, first_at, last_at)
				SELECT 'org_a', 'prg_a', (s.occurred_at AT TIME ZONE 'UTC')::date, s.occurred_at, s.occurred_at FROM s`,
			[]string{fmt.Sprintf("sale_%d", rnd.IntN(2000)), fmt.Sprintf("sale_%d", rnd.IntN(2000))})
		require.NoError(t, err)
		if round%4 == 0 {
			now = now.Days(rnd.Int64N(2))
			require.NoError(t, Sum(ctx, pool, now))
		}
	}
}

// withRollback runs a function in a transaction and rolls it back, also if a requirement fails: otherwise the pool would
// wait for its connection forever.
func withRollback(t *testing.T, pool *pgxpool.Pool, do func(tx pgx.Tx)) {
	t.Helper()
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(context.WithoutCancel(t.Context()))
	do(tx)
}

// requireCompared requires that the answer to a compared query has both windows as if each were read alone, and that
// both count as rows to read.
func requireCompared(t *testing.T, tx pgx.Tx, q Query) {
	t.Helper()
	read := func(q Query) (a Answer, size int64) {
		for _, r := range q.reads(t.Context(), &a) {
			require.NoError(t, r(tx))
		}
		size, err := queries.ReportSize(t.Context(), tx, q.size())
		require.NoError(t, err)
		return a, size
	}
	now, nowSize := read(q)
	before, beforeSize := read(q.Before())
	q.Compared = true
	both, bothSize := read(q)
	require.Equal(t, Answer{Window: now.Window, Before: before.Window}, both, "%+v", q)
	require.Equal(t, nowSize+beforeSize, bothSize, "%+v", q)
}

// holding counts the spans of more than a day that include a day.
func holding(t *testing.T, pool *pgxpool.Pool, day time.Time) (n int) {
	t.Helper()
	require.NoError(t, pool.QueryRow(t.Context(),
		"SELECT count(*) FROM report_spans WHERE span <> 'day' AND start <= $1 AND upto > $1", day).Scan(&n))
	return n
}

// Summing a day again removes the spans that include it until the next day, even if the server knows no spans;
// any window needs only a few spans.
func TestSpansAreTakenBack(t *testing.T) {
	t.Parallel()
	ctx, pool := t.Context(), filled(t, "100")
	now := clock.At(time.Date(2026, 9, 1, 3, 0, 0, 0, time.UTC))
	require.NoError(t, Sum(ctx, pool, now))
	day := time.Date(2026, 2, 3, 0, 0, 0, 0, time.UTC)
	all := holding(t, pool, day)
	require.Equal(t, 4, all, "spans of 4, 16, 64 and 256 days")
	var spans int
	require.NoError(t, pool.QueryRow(ctx, "SELECT count(*) FROM report_covered").Scan(&spans))
	require.Less(t, spans, 21, "a year")

	mark := db.ReportMarkParams{
		OrgID: "org_a", ProgramID: "prg_a", At: clock.At(day.Add(time.Hour)), Settled: now.Plus(-openFor),
	}
	require.NoError(t, queries.ReportMark(ctx, pool, mark))
	for range 2 {
		require.NoError(t, Sum(ctx, pool, now))
		require.Zero(t, holding(t, pool, day), "today it may be touched again")
	}
	require.NoError(t, Sum(ctx, pool, now.Days(1)))
	require.Equal(t, all, holding(t, pool, day))

	// Another replica has summed the day again since the span was listed.
	_, err := pool.Exec(ctx, "DELETE FROM report_spans WHERE span = 'day' AND start = $1", day)
	require.NoError(t, err)
	require.Zero(t, holding(t, pool, day))
	require.NoError(t, join(ctx, pool, span{"org_a", "prg_a", "UTC", "4", day}))
	require.Zero(t, holding(t, pool, day))
}

// rowsRead executes the captured query and returns how many rows it reads from each table.
func rowsRead(t *testing.T, pool *pgxpool.Pool, c queryplan.Capture) map[string]float64 {
	t.Helper()
	tables := map[string]float64{}
	c.Explain(t, pool).Walk(func(n queryplan.Node) {
		if n.Table != "" {
			tables[n.Table] += n.Rows * n.Loops
		}
	})
	return tables
}

// The list of spans to sum reads each span a few times, also if the planner expects too many or too few.
func TestSpansToSumWithoutStatistics(t *testing.T) {
	t.Parallel()
	ctx, pool := t.Context(), filled(t, "100")
	now := clock.At(time.Date(2026, 9, 1, 3, 0, 0, 0, time.UTC))
	require.NoError(t, Sum(ctx, pool, now))
	var spans float64
	require.NoError(t, pool.QueryRow(ctx, "SELECT count(*) FROM report_spans").Scan(&spans))
	for range 20 {
		var c queryplan.Capture
		_, _ = queries.ReportSpansToSum(ctx, &c, db.ReportSpansToSumParams{Today: now.Time, Lim: sumBatch})
		require.LessOrEqual(t, rowsRead(t, pool, c)["report_spans"], 2*spans)
		withRollback(t, pool, func(tx pgx.Tx) { // the table grows, but not its rows
			_, err := tx.Exec(ctx, "UPDATE report_spans SET program_id = 'hidden'")
			require.NoError(t, err)
		})
	}
}

// A report of days that are not summed reads a customer once for its lead and once for its conversion, and
// earlier sales once for each customer, partner and month.
func TestReportsSkipUnusedJoins(t *testing.T) {
	t.Parallel()
	ctx, pool := t.Context(), filled(t, "500")
	_, err := pool.Exec(ctx, "ANALYZE")
	require.NoError(t, err)
	read := func(by By) map[string]float64 {
		var c queryplan.Capture
		_, _ = queries.ReportRows(ctx, &c, Query{
			OrgID: "org_a", ProgramID: "prg_a", From: time.Date(2025, 9, 1, 0, 0, 0, 0, time.UTC), Zone: "UTC", By: by,
			To: time.Date(2026, 8, 31, 0, 0, 0, 0, time.UTC), Currency: "USD", ProgramCurrency: "USD", Bucket: "month",
		}.params())
		return rowsRead(t, pool, c)
	}
	for _, by := range []By{Partner, Product, Period} {
		require.LessOrEqual(t, read(by)["customers"], 200.0, "by %s", by)
	}
	// 500 sales for themselves, 500 for commissions, and earlier sales.
	require.LessOrEqual(t, read(cohort)["sales"], 1400.0)
}

// A report by origin of summed days reads sums only: their number does not depend on the clicks.
func TestOriginsAreReadFromSums(t *testing.T) {
	t.Parallel()
	ctx, pool := t.Context(), filled(t, "500")
	require.NoError(t, Sum(ctx, pool, clock.At(time.Date(2026, 9, 1, 3, 0, 0, 0, time.UTC))))
	partner := "part_0"
	q := Query{
		OrgID: "org_a", ProgramID: "prg_a", From: time.Date(2025, 9, 1, 0, 0, 0, 0, time.UTC), Zone: "UTC",
		To: time.Date(2026, 8, 31, 0, 0, 0, 0, time.UTC), Currency: "USD", ProgramCurrency: "USD",
	}
	check := func(q Query, most float64) {
		var c queryplan.Capture
		_, _ = queries.ReportRows(ctx, &c, q.params())
		tables := rowsRead(t, pool, c)
		for name, rows := range tables {
			if !strings.HasPrefix(name, "report_") {
				require.Zero(t, rows, "%s by %s", name, q.By)
			}
		}
		require.LessOrEqual(t, tables["report_sums"], most, "by %s", q.By)
		require.Positive(t, tables["report_sums"], "by %s", q.By)
	}
	for _, by := range Origins {
		q.By, q.Attribution = by, Everything
		check(q, 800)
		q.Attribution = PartnersOnly
		check(q, 1600)
	}
	q.By, q.Bucket, q.Attribution, q.Origin = Period, "month", Everything, map[By]string{Source: "source 1"}
	check(q, 100)
	q.By, q.Origin, q.PartnerID = Source, nil, &partner
	check(q, 200)
	q.By, q.PartnerID = cohort, nil
	check(q, 300)
}
