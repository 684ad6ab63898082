package pgtest

import (
	"fmt"
	"os"
	command "os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"rail/server/harness/process"
)

// bouncerConfig is the configuration of cmd/rail/README.md, with a pool so small that
// connections change hands all the time. Session settings come from the role.
const bouncerConfig = `[databases]
* = host=%s port=%d user=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 6
max_client_conn = 500
server_lifetime = 1
ignore_startup_parameters = plan_cache_mode,enable_seqscan,jit,statement_timeout,lock_timeout,idle_in_transaction_session_timeout,client_connection_check_interval
`

// Bouncer starts a PgBouncer in transaction mode before the database at dsn and
// returns the DSN through it, with a query mode that such a pool allows. PgBouncer
// stops with the test, which is skipped where it is not installed.
func Bouncer(t testing.TB, dsn string) string {
	t.Helper()
	path, err := command.LookPath("pgbouncer")
	if err != nil {
		t.Skip("PgBouncer is not installed (Debian: apt-get install pgbouncer): nothing is tested behind it")
	}
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	port, err := process.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	ini := filepath.Join(t.TempDir(), "pgbouncer.ini")
	text := fmt.Sprintf(bouncerConfig, cfg.Host, cfg.Port, cfg.User, port)
	if err := os.WriteFile(ini, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	// PgBouncer runs as another account, which must reach its file.
	if err := os.Chmod(filepath.Dir(filepath.Dir(ini)),
		0o755); err != nil {
		t.Fatal(err)
	}
	cmd := command.Command(path, "--quiet", ini)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: ownerOf(t, cfg.Host)}
	log, err := os.Create(filepath.Join(filepath.Dir(ini), "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = log.Close()
	})
	url := fmt.Sprintf("postgres://%s@127.0.0.1:%s/%s?sslmode=disable&default_query_exec_mode=cache_describe", cfg.User,
		port, cfg.Database)
	answers(t, url, log.Name())
	return url
}

// ownerOf returns the account that owns PostgreSQL's socket and alone may connect to
// it, nil for this process's own. PgBouncer refuses to run as root, as PostgreSQL does.
func ownerOf(t testing.TB, dir string) *syscall.Credential {
	t.Helper()
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) == os.Geteuid() {
		return nil
	}
	return &syscall.Credential{Uid: st.Uid, Gid: st.Gid}
}

// answers waits until PgBouncer responds, and fails the test with its log otherwise.
func answers(t testing.TB, url, log string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		conn, err := pgx.Connect(t.Context(), url)
		if err == nil {
			_ = conn.Close(t.Context())
			return
		}
		if time.Now().After(end) {
			output, _ := os.ReadFile(log)
			t.Fatalf("PgBouncer does not answer: %v\n%s", err, output)
		}
	}
}
