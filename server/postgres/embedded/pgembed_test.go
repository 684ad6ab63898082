package embedded

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"rail/server/clock"
)

// TestMain also runs as the second process of the tests: it starts or joins the cluster of its
// directory, reports that, and waits for its end.
func TestMain(m *testing.M) {
	if dir := os.Getenv("RAIL_TEST_PGEMBED"); dir != "" {
		os.Exit(helper(dir))
	}
	os.Exit(m.Run())
}

func helper(dir string) int {
	s, err := Start(context.Background(), Options{Dir: dir, Durable: true})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	fmt.Println("joined", s.Joined())
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return 1
	}
	if err := s.Stop(); err != nil {
		return 1
	}
	return 0
}

// other starts a second process on dir and returns its report.
func other(t *testing.T, dir string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "RAIL_TEST_PGEMBED="+dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	check(t, err)
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait() // ends without success by design
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	check(t, err)
	return cmd, strings.TrimSpace(line)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// openDir returns a temporary directory that the server's account can enter.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pgembed")
	check(t, err)
	check(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func launched(t *testing.T, dir string, durable bool) *Server {
	t.Helper()
	s, err := Start(t.Context(), Options{Dir: dir, Durable: durable, Logf: t.Logf})
	check(t, err)
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func value(t *testing.T, s *Server, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.DSN("postgres"))
	check(t, err)
	var v string
	check(t, conn.QueryRow(t.Context(), sql).Scan(&v))
	check(t, conn.Close(t.Context()))
	return v
}

func TestSettings(t *testing.T) {
	s := launched(t, openDir(t), true)
	for name, want := range map[string]string{
		"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on", "data_checksums": "on",
		"listen_addresses": "", "max_connections": "100", "TimeZone": "UTC", "unix_socket_permissions": "0700",
	} {
		if got := value(t, s, "SELECT current_setting('"+name+"')"); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	if got := value(t, s, "SELECT datcollate FROM pg_database WHERE datname = 'postgres'"); got != "C.UTF-8" {
		t.Errorf("collation %q", got)
	}
}

func TestSecondProcessJoins(t *testing.T) {
	dir := openDir(t)
	s := launched(t, dir, true)
	cmd, output := other(t, dir)
	if output != "joined true" {
		t.Fatal(output)
	}
	check(t, cmd.Process.Kill())
	if got := value(t, s, "SELECT 'alive'"); got != "alive" {
		t.Error(got)
	}
}

func TestJoinedDoesNotStop(t *testing.T) {
	dir := openDir(t)
	s := launched(t, dir, false)
	second, err := Start(t.Context(), Options{Dir: dir})
	check(t, err)
	if !second.Joined() || s.Joined() {
		t.Fatal("the second must join, the first must not")
	}
	check(t, second.Stop())
	value(t, s, "SELECT 'alive'")
}

func TestParentKilled(t *testing.T) {
	dir := openDir(t)
	cmd, output := other(t, dir)
	if output != "joined false" {
		t.Fatal(output)
	}
	check(t, cmd.Process.Kill())
	_ = cmd.Wait() // killed
	if s := launched(t, dir, true); s.Joined() {
		t.Error("joined a server that was shutting down")
	}
}

func TestServerKilled(t *testing.T) {
	dir := openDir(t)
	first, err := Start(t.Context(), Options{Dir: dir, Durable: true})
	check(t, err)
	value(t, first, "SELECT set_config('a.b', 'x', false)")
	check(t, first.proc.cmd.Process.Kill())
	second := launched(t, dir, true)
	value(t, second, "SELECT 'alive'")
	<-first.proc.done
	if err := first.Stop(); err == nil {
		t.Error("Stop hides that the server had been killed")
	}
}

// The id in a stale file belongs to a live process that is not a server, as after a container's
// restart.
func TestStaleFileOfAnotherProcess(t *testing.T) {
	dir := openDir(t)
	first, err := Start(t.Context(), Options{Dir: dir, Durable: true})
	check(t, err)
	check(t, first.proc.cmd.Process.Kill())
	<-first.proc.done
	acc, err := accountFor(layout{dir: dir})
	check(t, err)
	stranger := exec.Command("sleep", "600")
	stranger.Dir, stranger.SysProcAttr = "/", attributes(acc, syscall.SIGKILL)
	p, err := spawn(stranger)
	check(t, err)
	defer func() { check(t, p.signal(os.Kill)); <-p.done }()
	l := layout{dir: dir, socket: socketDir(dir)}
	for _, name := range []string{l.pidFile(), l.socket + socketName(defaultPort) + ".lock"} {
		text, err := os.ReadFile(name)
		check(t, err)
		_, rest, _ := strings.Cut(string(text), "\n")
		check(t, os.WriteFile(name, []byte(strconv.Itoa(stranger.Process.Pid)+"\n"+rest), 0o600))
	}
	value(t, launched(t, dir, true), "SELECT 'alive'")
}

func TestTwoAtOnce(t *testing.T) {
	dir := openDir(t)
	var wg sync.WaitGroup
	servers := make([]*Server, 4)
	for i := range servers {
		wg.Go(func() {
			s, err := Start(t.Context(), Options{Dir: dir})
			if err != nil {
				t.Error(err)
			}
			servers[i] = s
		})
	}
	wg.Wait()
	own := 0
	for _, s := range servers {
		if s == nil {
			continue
		}
		if !s.Joined() {
			own++
		}
		check(t, s.Stop())
	}
	if own != 1 {
		t.Errorf("%d servers were started", own)
	}
}

func TestRestartKeepsData(t *testing.T) {
	dir := openDir(t)
	first, err := Start(t.Context(), Options{Dir: dir})
	check(t, err)
	value(t, first, "SELECT pg_create_restore_point('x')::text")
	id := value(t, first, "SELECT system_identifier::text FROM pg_control_system()")
	check(t, first.Stop())
	check(t, first.Stop())
	if got := value(t, launched(t, dir, false), "SELECT system_identifier::text FROM pg_control_system()"); got != id {
		t.Error("another cluster came up")
	}
}

func TestLongPath(t *testing.T) {
	dir := filepath.Join(openDir(t), strings.Repeat("long", 30))
	s := launched(t, dir, false)
	t.Cleanup(func() { check(t, os.RemoveAll(s.socketDir)) })
	value(t, s, "SELECT 'alive'")
	second, err := Start(t.Context(), Options{Dir: dir})
	check(t, err)
	if !second.Joined() || second.socketDir != s.socketDir {
		t.Error("the second did not find the first")
	}
}

// TestOwnerStays: root runs a cluster as its owner, though there is an account postgres meanwhile.
func TestOwnerStays(t *testing.T) {
	owner, err := user.Lookup("nobody")
	if os.Geteuid() != 0 || err != nil {
		t.Skip("only root lends an account, here that of nobody")
	}
	acc, err := lent(owner)
	check(t, err)
	dir := openDir(t)
	check(t, launched(t, dir, true).Stop())
	for _, place := range []string{layout{dir: dir}.data(), socketDir(dir)} {
		check(t, filepath.WalkDir(place, func(path string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(path, int(acc.uid), int(acc.gid)))
		}))
	}
	value(t, launched(t, dir, true), "SELECT 'alive'")
	st, err := os.Stat(layout{dir: dir}.pidFile())
	check(t, err)
	if got := st.Sys().(*syscall.Stat_t).Uid; got != acc.uid {
		t.Errorf("the server runs as %d", got)
	}
}

func TestClosedDirectory(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root lends an account")
	}
	closed := t.TempDir()
	check(t, os.Chmod(closed, 0o700))
	_, err := Start(t.Context(), Options{Dir: filepath.Join(closed, "rail")})
	if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "chmod o+x") {
		t.Error(err)
	}
	left, err := os.ReadDir(closed)
	check(t, err)
	if len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

func TestNoBinaries(t *testing.T) {
	t.Setenv("PG_BINDIR", t.TempDir())
	_, err := Start(t.Context(), Options{Dir: openDir(t)})
	if !errors.Is(err, ErrNoBinaries) || !strings.Contains(err.Error(), "apt-get install postgresql") {
		t.Error(err)
	}
}

func TestVersion(t *testing.T) {
	for path, want := range map[string]int{
		"/usr/lib/postgresql/16/bin": 16, "/opt/homebrew/opt/postgresql@9/bin": 9, "/bin": 0,
		"postgres (PostgreSQL) 18.4": 18, "postgres (PostgreSQL) 15.13 (Debian 15.13-0+deb12u1)": 15,
	} {
		if got := version(path); got != want {
			t.Errorf("version(%s) = %d", path, got)
		}
	}
}

func TestFailureShowsLog(t *testing.T) {
	dir := openDir(t)
	s, err := Start(t.Context(), Options{Dir: dir})
	check(t, err)
	check(t, s.Stop())
	check(t, os.WriteFile(filepath.Join(dir, "data", "postgresql.auto.conf"), []byte("nonsense = 1\n"), 0o644))
	if _, err := Start(t.Context(), Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Error(err)
	}
}

// Keep restarts a server that dies at the same address, and Stop stops it.
func TestKeep(t *testing.T) {
	dir := openDir(t)
	s, err := Start(t.Context(), Options{Dir: dir, Durable: true})
	check(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.Keep(ctx) }()
	for range 2 {
		p := s.process()
		check(t, p.cmd.Process.Kill())
		<-p.done
		for s.process() == p || s.ping(ctx) != nil {
			check(t, clock.Wait(ctx, pollEvery))
		}
		value(t, s, "SELECT 'alive'")
	}
	last := s.process()
	cancel()
	<-done
	check(t, s.Stop())
	if !last.ended() {
		t.Error("Stop left the last server running")
	}
}

// After its owner has ended, a joined server is run by the joiner.
func TestKeepJoined(t *testing.T) {
	dir := openDir(t)
	owner, err := Start(t.Context(), Options{Dir: dir, Durable: true})
	check(t, err)
	joiner, err := Start(t.Context(), Options{Dir: dir, Durable: true})
	check(t, err)
	if !joiner.Joined() {
		t.Fatal("not joined")
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); joiner.Keep(ctx) }()
	check(t, owner.Stop())
	for joiner.Joined() || joiner.ping(ctx) != nil {
		check(t, clock.Wait(ctx, pollEvery))
	}
	value(t, joiner, "SELECT 'alive'")
	cancel()
	<-done
	check(t, joiner.Stop())
}
