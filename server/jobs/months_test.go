package jobs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/ident"
)

// months creates partitions that ended the given numbers of days ago, the first with all older rows, and a
// present one.
func months(t *testing.T, pool *pgxpool.Pool, list, prefix string, first, second int) {
	t.Helper()
	fill := strings.NewReplacer("$list", list, "$prefix", prefix, "$first", fmt.Sprint(first), "$second", fmt.Sprint(second))
	for _, sql := range []string{
		`ALTER TABLE $list DETACH PARTITION $list_first`,
		`DO $$ BEGIN
			EXECUTE format('ALTER TABLE $list ATTACH PARTITION $list_first FOR VALUES FROM (''$prefix0'') TO (%L)', id_at('$prefix', now() - interval '$first days'));
			EXECUTE format('CREATE TABLE $list_late PARTITION OF $list FOR VALUES FROM (%L) TO (%L)', id_at('$prefix', now() - interval '$first days'), id_at('$prefix', now() - interval '$second days'));
			EXECUTE format('CREATE TABLE $list_now PARTITION OF $list FOR VALUES FROM (%L) TO (%L)', id_at('$prefix', now() - interval '$second days'),
				(SELECT min(substring(pg_get_expr(relpartbound, oid) FROM 'FROM \(''([^'']*)''\)') COLLATE "C") FROM pg_class WHERE relname ~ '^$list_[0-9]' AND relkind = 'r'));
		END $$`,
	} {
		_, err := pool.Exec(t.Context(), fill.Replace(sql))
		require.NoError(t, err, sql)
	}
}

// eventMonths returns events with partitions that ended forty and twenty days ago, with
// one event in each, and a present one.
func eventMonths(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool := pgtest.New(t)
	months(t, pool, "events", "evt_", 40, 20)
	_, err := pool.Exec(t.Context(), `INSERT INTO events (id, org_id, program_id, type, subject_id, body, created_at)
		SELECT id_at('evt_', now() - n * interval '1 day') || 'x', 'org_1', 'prg_1', 'sale.created', 'sale_' || n, '', now() - n * interval '1 day' FROM unnest('{50,30,0}'::int[]) n`)
	require.NoError(t, err)
	return pool
}

// rows returns the results of a query with one column.
func rows[T any](t *testing.T, pool *pgxpool.Pool, sql string) []T {
	t.Helper()
	found, err := pool.Query(t.Context(), sql)
	require.NoError(t, err, sql)
	out, err := pgx.CollectRows(found, pgx.RowTo[T])
	require.NoError(t, err, sql)
	return out
}

const subjects = "SELECT subject_id FROM events ORDER BY id"

func TestMonthsPastTheirRetentionGo(t *testing.T) {
	t.Parallel()
	pool := eventMonths(t)
	for _, sql := range append(tallied, `
		INSERT INTO webhook_endpoints (id, org_id, program_id, url, event_types, enabled, secret, counted_since, created_at, updated_at)
		VALUES ('whe_1', 'org_1', 'prg_1', 'https://x.example', '{}', true, '', now(), now(), now())`, `
		INSERT INTO webhook_deliveries (id, org_id, program_id, endpoint_id, event_id, event_type, event_seq, status, next_attempt_at, created_at)
		SELECT 'whd_1', 'org_1', 'prg_1', 'whe_1', id, type, seq, 'pending', now(), created_at FROM events WHERE subject_id = 'sale_50'`) {
		_, err := pool.Exec(t.Context(), sql)
		require.NoError(t, err, sql)
	}
	now := clock.System{}.Now()
	job := keepMonths(Deps{Pool: pool, RetentionDays: 30})

	require.NoError(t, job.Run(t.Context(), now))
	require.Equal(t, []string{"sale_50", "sale_30", "sale_0"}, rows[string](t, pool, subjects), "a delivery needs the first")
	_, err := pool.Exec(t.Context(), "DELETE FROM webhook_deliveries")
	require.NoError(t, err)

	reader, err := pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = reader.Exec(t.Context(), "SELECT FROM events")
	require.NoError(t, err)
	require.NoError(t, job.Run(t.Context(), now))
	require.Len(t, rows[string](t, pool, subjects), 3, "somebody reads")
	require.NoError(t, reader.Rollback(t.Context()))

	require.NoError(t, job.Run(t.Context(), now))
	require.Equal(t, []string{"sale_30", "sale_0"}, rows[string](t, pool, subjects))
	require.NoError(t, job.Run(t.Context(), now.Days(400)))
	require.Equal(t, []string{"sale_0"}, rows[string](t, pool, subjects), "a clock far ahead drops no month that is not over")
}

func TestMonthsAreMadeAhead(t *testing.T) {
	t.Parallel()
	pool := eventMonths(t)
	write := func(days int) error {
		_, err := pool.Exec(t.Context(), `INSERT INTO events (id, org_id, program_id, type, subject_id, body, created_at)
			VALUES (id_at('evt_', now() + $1 * interval '1 day') || gen_random_uuid(), 'org_1', 'prg_1', 'x', 'x', '', now())`, days)
		return err
	}
	require.NoError(t, write(59))
	require.ErrorContains(t, write(95), `no partition of relation "events" found for row`)
	for _, name := range rows[string](t, pool, "SELECT name FROM partitions_of('events') WHERE name ~ 'events_[0-9n]' AND upper_id IS NOT NULL") {
		_, err := pool.Exec(t.Context(), "DROP TABLE "+name)
		require.NoError(t, err)
	}
	require.Error(t, write(0), "as after months without a server")
	job := keepMonths(Deps{Pool: pool, RetentionDays: 30})
	require.True(t, job.First)
	require.NoError(t, job.Run(t.Context(), clock.System{}.Now()))
	for _, days := range []int{-19, 0, 28, 59} {
		require.NoError(t, write(days))
	}
	require.Equal(t, []int64{0}, rows[int64](t, pool, "SELECT make_partitions('events', 'evt_')"))
}

// TestMonthsOfDeliveries: a month of deliveries is dropped when all have ended, together with the events of that
// month.
func TestMonthsOfDeliveries(t *testing.T) {
	t.Parallel()
	pool := eventMonths(t)
	months(t, pool, "webhook_deliveries", "whd_", 40, 20)
	for _, sql := range append(tallied, `
		INSERT INTO webhook_endpoints (id, org_id, program_id, url, event_types, enabled, secret, counted_since, created_at, updated_at)
		VALUES ('whe_1', 'org_1', 'prg_1', 'https://x.example', '{}', true, '', now(), now(), now())`, `
		INSERT INTO webhook_deliveries (id, org_id, program_id, endpoint_id, event_id, event_type, event_seq, status, next_attempt_at, finished_at, created_at)
		SELECT 'whd_' || substr(id, 5), 'org_1', 'prg_1', 'whe_1', id, type, seq, CASE subject_id WHEN 'sale_50' THEN 'retrying' ELSE 'delivered' END,
			CASE subject_id WHEN 'sale_50' THEN now() END, CASE WHEN subject_id <> 'sale_50' THEN created_at END, created_at FROM events`,
		sampled("1", 50)) {
		_, err := pool.Exec(t.Context(), sql)
		require.NoError(t, err, sql)
	}
	job := keepMonths(Deps{Pool: pool, RetentionDays: 30})
	require.NoError(t, job.Run(t.Context(), clock.System{}.Now()))
	require.Len(t, rows[string](t, pool, "SELECT id FROM webhook_deliveries"), 4, "the first waits still")
	_, err := pool.Exec(t.Context(), "UPDATE webhook_deliveries SET status = 'failed', next_attempt_at = NULL WHERE status = 'retrying'")
	require.NoError(t, err)
	require.NoError(t, job.Run(t.Context(), clock.System{}.Now()))
	require.Equal(t, []string{"sale_30", "sale_0"}, rows[string](t, pool, subjects))
	require.Len(t, rows[string](t, pool, "SELECT id FROM webhook_deliveries"), 3)
	_, err = pool.Exec(t.Context(), sampled("2", 0))
	require.NoError(t, err, "samples come and go as before")
}

// sampled is a delivery of a sample program, never finished, of an age in days.
func sampled(id string, days int) string {
	return fmt.Sprintf(`INSERT INTO webhook_deliveries (id, org_id, program_id, endpoint_id, event_id, event_type, event_seq, status, next_attempt_at, created_at)
		SELECT 'sample_whd_%s', 'org_1', 'prg_1', 'whe_1', id_at('evt_', m.at), 'sale.created', 0, 'pending', m.at, m.at FROM (SELECT now() - interval '%d days' AS at) m`, id, days)
}

// TestMonthsOfALimitedRole: a role that may write and delete rows, but creates no tables, can maintain the months; a
// read-only one cannot.
func TestMonthsOfALimitedRole(t *testing.T) {
	t.Parallel()
	pool := eventMonths(t)
	role := "keeper_" + pool.Config().ConnConfig.Database
	cfg := pool.Config().Copy()
	cfg.ConnConfig.User = role
	_, err := pool.Exec(t.Context(), fmt.Sprintf("CREATE ROLE %[1]q LOGIN; GRANT SELECT ON events, webhook_deliveries, clicks TO %[1]q", role))
	require.NoError(t, err)
	other, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	defer func() {
		other.Close()
		_, err := pool.Exec(t.Context(), fmt.Sprintf("DROP OWNED BY %[1]q; DROP ROLE %[1]q", role))
		require.NoError(t, err)
	}()
	job := keepMonths(Deps{Pool: other, RetentionDays: 30})
	err = job.Run(t.Context(), clock.System{}.Now())
	require.ErrorContains(t, err, "may not insert into events")
	require.ErrorContains(t, err, "may not delete from events")
	_, err = pool.Exec(t.Context(), fmt.Sprintf("GRANT INSERT, DELETE ON events, webhook_deliveries, clicks TO %q", role))
	require.NoError(t, err)
	require.NoError(t, job.Run(t.Context(), clock.System{}.Now()))
	require.Equal(t, []string{"sale_30", "sale_0"}, rows[string](t, pool, subjects))
}

// TestIDsOfATime: the database computes the same first id of a time as the program.
func TestIDsOfATime(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	before := clock.System{}.Now()
	id := ident.New(ident.Event)
	after := clock.System{}.Now()
	var within bool
	require.NoError(t, pool.QueryRow(t.Context(),
		`SELECT id_at('evt_', $1) <= $3 COLLATE "C" AND $3 COLLATE "C" < id_at('evt_', $2)`,
		before, after.Plus(1e6), id).Scan(&within))
	require.True(t, within, id)
}
