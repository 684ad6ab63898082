package schema_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"rail/server/harness/pgtest"
	"rail/server/postgres/migrate"
)

// TestTalliesCountForEveryWriter: rows are counted where the tables are not in the schema
// public, for a writer whose search path names another, and for a role that may write a
// list and its differences only.
func TestTalliesCountForEveryWriter(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	pool := pgtest.Pool(t, dsn)
	for _, sql := range []string{"DROP SCHEMA public CASCADE", "CREATE SCHEMA rail", "CREATE SCHEMA decoy"} {
		_, err := pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer conn.Close(t.Context()) // the test is over
	role := "writer_" + conn.Config().Database
	name, inRail := pgx.Identifier{role}.Sanitize(), dsn+"&search_path=rail"
	require.NoError(t, migrate.Up(t.Context(), inRail))
	for _, sql := range []string{
		"CREATE ROLE " + name, "GRANT USAGE ON SCHEMA rail, decoy TO " + name, "GRANT INSERT ON rail.audit_log_entries, rail.tally_entries TO " + name,
		"CREATE TABLE decoy.tally_entries (LIKE rail.tally_entries)",
	} {
		_, err := conn.Exec(t.Context(), sql)
		require.NoError(t, err, sql)
	}
	for _, sql := range []string{
		"SET search_path = decoy", "SET ROLE " + name,
		`INSERT INTO rail.audit_log_entries (id, org_id, program_id, action, target_id, created_at)
			VALUES ('aud_1', 'org_1', 'prg_1', 'commission.rejected', 'com_1', now())`,
		"RESET ROLE",
	} {
		_, err := conn.Exec(t.Context(), sql)
		require.NoError(t, err, sql)
	}
	var total, astray int
	require.NoError(t, conn.QueryRow(t.Context(),
		"SELECT (SELECT sum(difference) FROM rail.tally_entries), (SELECT count(*) FROM decoy.tally_entries)").Scan(&total, &astray))
	require.Equal(t, 1, total)
	require.Zero(t, astray)
	for _, sql := range []string{"DROP OWNED BY " + name, "DROP ROLE " + name} {
		_, err := conn.Exec(t.Context(), sql)
		require.NoError(t, err, sql)
	}
}
