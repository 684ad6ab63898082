package schema_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"rail/server/harness/pgtest"
)

// logged inserts audit log entries of two programs: an action that the books need, and an action that they do not need.
const logged = `INSERT INTO audit_log_entries
	(id, org_id, program_id, action, target_id, api_key_id, before, after, reason, created_at)
	SELECT format('aud_%s_%s_%s', p, d, n), 'org_1', 'prg_' || p,
		CASE n WHEN 1 THEN 'commission.corrected' ELSE 'partner.updated' END, 'x', 'key_1', '{"amount_minor": 5}',
		'{"amount_minor": 7}', 'because', now() - d * interval '1 day'
	FROM generate_series(1, 2) p, unnest('{0,29,31,400}'::int[]) d, generate_series(1, 2) n`

// TestAuditLogCut: cut_audit_log takes entries of all programs in batches, leaves facts of some, and spares 30 days.
func TestAuditLogCut(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), logged)
	require.NoError(t, err)
	count := func(sql string) (n int64) {
		t.Helper()
		require.NoError(t, pool.QueryRow(t.Context(), sql).Scan(&n))
		return n
	}
	cut := func(days, lim string) int64 {
		t.Helper()
		return count("SELECT cut_audit_log(now() - " + days + " * interval '1 day', " + lim + ")")
	}
	require.EqualValues(t, 3, cut("100", "3"))
	require.EqualValues(t, 1, cut("100", "3"))
	require.Zero(t, cut("100", "3"))
	require.EqualValues(t, 12, count("SELECT count(*) FROM audit_log_entries"))
	require.EqualValues(t, 2, count(`SELECT count(*) FROM audit_log_facts
		WHERE action = 'commission.corrected' AND named AND before_minor = 5 AND after_minor = 7`))
	require.EqualValues(t, 4, cut("-1", "100"), "30 days stay whatever the time is")
	require.EqualValues(t, 8, count(`SELECT count(*) FROM audit_log_entries
		WHERE created_at > now() - interval '30 days'`))
	require.EqualValues(t, 4, count("SELECT count(*) FROM audit_log_facts"))
	require.EqualValues(t, 12, count("SELECT count(*) FROM audit_facts"))
	require.EqualValues(t, 8, count("SELECT sum(total)::bigint FROM tally_sums WHERE list = 'audit_log_entries'"))
}

// TestOnlyTheCutDeletes: nothing else can delete, and the setting of the cut alone allows neither recent entries nor
// entries whose facts are missing.
func TestOnlyTheCutDeletes(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), logged+"; SELECT cut_audit_log(now() - interval '100 days', 100)")
	require.NoError(t, err)
	const as = "SELECT set_config('rail.audit_log_cut', 'on', true); "
	const log, facts = "audit_log_entries_append_only", "audit_log_facts_append_only"
	for sql, name := range map[string]string{
		"SELECT cut_audit_log(now(), 0); DELETE FROM audit_log_entries":                       log,
		as + "DELETE FROM audit_log_entries WHERE created_at > now() - interval '30 days'":    log,
		as + "DELETE FROM audit_log_entries WHERE action = 'commission.corrected'":            log,
		as + "UPDATE audit_log_entries SET reason = 'other'":                                  log,
		as + "TRUNCATE audit_log_entries":                                                     log,
		as + "DELETE FROM audit_log_facts":                                                    facts,
		"UPDATE audit_log_facts SET named = false":                                            facts,
		"TRUNCATE audit_log_facts":                                                            facts,
		"BEGIN; SELECT cut_audit_log(now(), 10); DELETE FROM audit_log_entries WHERE id > ''": log,
	} {
		_, err := pool.Exec(t.Context(), sql)
		var pg *pgconn.PgError
		require.ErrorAs(t, err, &pg, sql)
		require.Equal(t, name, pg.ConstraintName, sql)
		_, err = pool.Exec(t.Context(), "ROLLBACK")
		require.NoError(t, err)
	}
	var n int
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM audit_log_entries").Scan(&n))
	require.Equal(t, 12, n)
}
