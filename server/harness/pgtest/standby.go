package pgtest

import (
	"context"
	"errors"
	"os"
	command "os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"rail/server/postgres/embedded"
	"rail/server/postgres/migrate"
)

// Standby is a hot standby of a cluster for a single test.
type Standby struct {
	t       testing.TB
	options embedded.Options
	server  *embedded.Server
	primary string // the DSN
}

// Replicated starts a cluster with a standby of it, and returns a database with Rail's
// tables at the primary. Both stop with the test, which is skipped where there is no
// pg_basebackup.
func Replicated(t testing.TB) (dsn string, s *Standby) {
	t.Helper()
	bin, err := embedded.BinDir()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(bin, "pg_basebackup")
	if _, err := os.Stat(path); err != nil {
		t.Skip("pg_basebackup is not installed: nothing is tested on a standby")
	}
	c := &cluster{apart: true, durable: true} // a position is one on the disk
	t.Cleanup(func() {
		if err := c.stop(); err != nil {
			t.Error(err)
		}
	})
	dsn, _, err = c.create(t.Context(), migrate.Schema())
	if err != nil {
		t.Fatal(err)
	}
	s = &Standby{t: t, primary: dsn, options: embedded.Options{Dir: filepath.Join(c.dir, "standby"), MaxConnections: 200,
		Durable: true}}
	s.copy(path, c.server.DSN("postgres"))
	s.Start()
	t.Cleanup(s.Stop)
	return dsn, s
}

// copy creates the standby's data from a server's, as this process's account.
func (s *Standby) copy(program, of string) {
	s.t.Helper()
	cfg, err := pgx.ParseConfig(of)
	if err != nil {
		s.t.Fatal(err)
	}
	data, owner := filepath.Join(s.options.Dir, "data"), ownerOf(s.t, cfg.Host)
	err = errors.Join(os.Mkdir(s.options.Dir, 0o755), os.Mkdir(data, 0o700))
	if owner != nil {
		err = errors.Join(err, os.Chown(data, int(owner.Uid), int(owner.Gid)))
	}
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := command.Command(program, "--pgdata", data, "--dbname", of, "--write-recovery-conf",
		"--checkpoint", "fast", "--no-sync")
	cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Credential: owner}
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("pg_basebackup: %v\n%s", err, out)
	}
}

// Start starts the standby, again after Stop.
func (s *Standby) Start() {
	s.t.Helper()
	server, err := embedded.Start(context.Background(), s.options)
	if err != nil {
		s.t.Fatal(err)
	}
	s.server = server
}

// Stop stops the standby, with all sessions there.
func (s *Standby) Stop() {
	if err := s.server.Stop(); err != nil {
		s.t.Error(err)
	}
}

// DSN returns the address of the test's database on the standby.
func (s *Standby) DSN() string {
	cfg, err := pgx.ParseConfig(s.primary)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.server.DSN(cfg.Database) + "&timezone=" + strings.ReplaceAll(Zone, "/", "%2F")
}

// Pause stops replay on the standby until Resume.
func (s *Standby) Pause() {
	s.t.Helper()
	s.CatchUp()
	s.do("SELECT pg_wal_replay_pause()")
	s.await("SELECT pg_get_wal_replay_pause_state() = 'paused'")
}

// Resume ends Pause.
func (s *Standby) Resume() { s.t.Helper(); s.do("SELECT pg_wal_replay_resume()") }

// Promote makes the standby a primary on a new timeline.
func (s *Standby) Promote() { s.t.Helper(); s.do("SELECT pg_promote()") }

// CatchUp waits until the standby shows every commit.
func (s *Standby) CatchUp() {
	s.t.Helper()
	conn := s.connect(s.primary)
	defer conn.Close(context.Background()) //nolint:errcheck // of a test
	var at string
	if err := conn.QueryRow(s.t.Context(), "SELECT pg_current_wal_insert_lsn()::text").Scan(&at); err != nil {
		s.t.Fatal(err)
	}
	s.await("SELECT pg_last_wal_replay_lsn() >= '" + at + "'::pg_lsn")
}

// await waits until a condition holds on the standby.
func (s *Standby) await(question string) {
	s.t.Helper()
	conn := s.connect(s.DSN())
	defer conn.Close(context.Background()) //nolint:errcheck // of a test
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		var yes bool
		if err := conn.QueryRow(s.t.Context(), question).Scan(&yes); err != nil {
			s.t.Fatal(err)
		}
		if yes {
			return
		}
		if time.Now().After(end) {
			s.t.Fatal("a minute has passed, and still not: " + question)
		}
	}
}

// do runs one statement at the standby.
func (s *Standby) do(sql string) {
	s.t.Helper()
	if err := exec(s.t.Context(), s.DSN(), sql); err != nil {
		s.t.Fatal(err)
	}
}

func (s *Standby) connect(dsn string) *pgx.Conn {
	s.t.Helper()
	conn, err := pgx.Connect(s.t.Context(), dsn)
	if err != nil {
		s.t.Fatal(err)
	}
	return conn
}
