package pgtx_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"rail/server/harness/pgtest"
	"rail/server/harness/wait"
	"rail/server/postgres"
	"rail/server/postgres/embedded"
	"rail/server/postgres/pgtx"
)

// TestUnreplicated: when the wait for a synchronous standby is cancelled, PostgreSQL commits with
// only a warning. Commit returns an error, because a failover would lose the commit.
func TestUnreplicated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755)) // for PostgreSQL's account, if root runs the tests
	s, err := embedded.Start(t.Context(), embedded.Options{Dir: filepath.Join(dir, "data"), Durable: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Stop()) })
	pool, err := postgres.Open(t.Context(), s.DSN("postgres"), postgres.Options{MaxConns: 2})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	exec := func(sql string) {
		t.Helper()
		_, err := pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	write := func() error {
		tx := pgtx.Begin(pool)
		defer tx.Rollback()
		if _, err := tx.Exec(t.Context(), "INSERT INTO written VALUES (1)"); err != nil {
			return err
		}
		return tx.Commit(t.Context())
	}
	exec("CREATE TABLE written (n int)")
	require.NoError(t, write())

	exec("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
	exec("SELECT pg_reload_conf()")
	var waits error
	wait.Until(t, func() bool { // the setting takes effect after a while
		done := make(chan error, 1)
		go func() { done <- write() }()
		for {
			select {
			case waits = <-done:
				return waits != nil
			default:
				exec("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
			}
		}
	})
	var refused *pgconn.PgError
	require.ErrorAs(t, waits, &refused)
	require.Equal(t, "08007", refused.Code)

	exec("ALTER SYSTEM RESET synchronous_standby_names")
	exec("SELECT pg_reload_conf()")
	require.NoError(t, write(), "the pool has got another connection")
}

// TestUnreplicatedInAnyLanguage: PostgreSQL warns in the language of its lc_messages.
func TestUnreplicatedInAnyLanguage(t *testing.T) {
	t.Parallel()
	conn, err := pgtest.New(t).Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	c := conn.Conn().PgConn()
	pgtx.NoteReplication(c, &pgconn.Notice{Code: "01000", Routine: "exec_stmt_raise", Detail: "might not have been replicated"})
	require.Empty(t, c.CustomData(), "this notice is not of the commit")
	pgtx.NoteReplication(c, &pgconn.Notice{Code: "01000", Routine: "SyncRepWaitForLSN", Detail: "Die Transaktion wurde lokal schon committet."})
	require.NotEmpty(t, c.CustomData())
	require.NoError(t, c.Close(t.Context())) // the mark must not reach the next user
}
