package report

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/harness/pgtest"
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
		Zone: "UTC", Currency: "USD", ProgramCurrency: "USD", By: []By{Partner, Link, Product, Group, Tag, Period, all}[rnd.IntN(7)],
	}
	if q.By == Period {
		q.Bucket = []string{"day", "week", "month"}[rnd.IntN(3)]
	}
	if rnd.IntN(3) == 0 {
		group := fmt.Sprintf("grp_%d", rnd.IntN(10))
		q.GroupID = &group
	}
	return q
}

// Reports of any days equal those from rows, whatever is summed or marked, also before it is summed again.
func TestSpansAreTheirRows(t *testing.T) {
	t.Parallel()
	ctx, pool, rnd := t.Context(), filled(t, "2000"), rand.New(rand.NewPCG(7, 7))
	now := clock.At(time.Date(2026, 9, 1, 3, 0, 0, 0, time.UTC))
	for round := range 40 {
		tx, err := pool.Begin(ctx)
		require.NoError(t, err)
		q := random(rnd)
		have, err := queries.ReportRows(ctx, tx, q.params())
		require.NoError(t, err)
		_, err = tx.Exec(ctx, "UPDATE report_spans SET program_id = 'hidden'")
		require.NoError(t, err)
		want, err := queries.ReportRows(ctx, tx, q.params())
		require.NoError(t, err)
		require.NoError(t, tx.Rollback(ctx))
		if q.By != Product { // others are named by ReportLabels
			for i := range want {
				want[i].Label = ""
			}
			for i := range have {
				have[i].Label = ""
			}
		}
		require.ElementsMatch(t, want, have, "round %d: %+v", round, q)
		_, err = pool.Exec(ctx, `WITH s AS (UPDATE sales SET amount_minor = amount_minor + 1
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
	require.Greater(t, all, 5)
	var spans int
	require.NoError(t, pool.QueryRow(ctx, "SELECT count(*) FROM report_covered").Scan(&spans))
	require.Less(t, spans, 16, "a year")

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
	require.NoError(t, join(ctx, pool, span{"org_a", "prg_a", "UTC", "2", day}))
	require.Zero(t, holding(t, pool, day))
}
