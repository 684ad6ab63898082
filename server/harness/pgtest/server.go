package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"rail/server/postgres/embedded"
)

// The process id follows, so that sweep can see whether the owner lives.
const dirPrefix = "rail-pgtest-"

// cluster is a server of the test binary's own, started by the first test that needs
// it.
type cluster struct {
	durable bool
	apart   bool // a test's own, whatever server the others use
	once    sync.Once
	server  *embedded.Server
	dir     string
	err     error
}

// private is fast and loses data in a crash. durable is as in production, for tests
// that start the real binary.
var private, durable = &cluster{}, &cluster{durable: true}

// Main runs the tests, stops the private servers that were started, calls the clean-ups, and exits.
func Main(m *testing.M, cleanups ...func() error) {
	code := m.Run()
	err := errors.Join(private.stop(), durable.stop())
	for _, cleanup := range cleanups {
		err = errors.Join(err, cleanup())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pgtest:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// stop ends the server, if a test has started it, and deletes its data.
func (c *cluster) stop() error {
	if c.server == nil {
		return nil
	}
	return errors.Join(c.server.Stop(), os.RemoveAll(c.dir))
}

// dsn returns the DSN of a database of the server, from which to create others.
func (c *cluster) dsn(ctx context.Context) (string, error) {
	if dsn := os.Getenv("RAIL_TEST_DATABASE_URL"); dsn != "" && !c.apart {
		return dsn, nil
	}
	c.once.Do(func() { c.err = c.start(context.WithoutCancel(ctx)) })
	if c.err != nil {
		return "", fmt.Errorf("test database (or set RAIL_TEST_DATABASE_URL): %w", c.err)
	}
	return c.server.DSN("postgres"), nil
}

// start starts the server in a new directory.
func (c *cluster) start(ctx context.Context) error {
	dir, err := TempDir()
	if err != nil {
		return err
	}
	server, err := embedded.Start(ctx, embedded.Options{Dir: dir, MaxConnections: 200, Durable: c.durable})
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	c.server, c.dir = server, dir
	return nil
}

// TempDir makes a directory that PostgreSQL's account can enter. Its caller removes it. If this process is killed
// before, a later one does.
func TempDir() (string, error) {
	tmp := memory()
	if err := errors.Join(sweep(os.TempDir()), sweep(tmp)); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(tmp, fmt.Sprintf("%s%d-", dirPrefix, os.Getpid()))
	if err != nil {
		return "", err
	}
	// Passable, for the account that the server runs as when the tests are root's.
	return dir, os.Chmod(dir, 0o711) // nothing secret
}

// onDisk keeps the servers' data out of memory.
var onDisk bool

// OnDisk keeps the data on disk, for a package whose data exceeds the memory; its TestMain calls it before Main.
func OnDisk() { onDisk = true }

// memory returns a directory in memory for the servers' data, or for temporary files if no directory has enough
// space. A database has 1,500 files, and ext4 creates files slowly after many deletions.
func memory() string {
	const dir, room = "/dev/shm", 3 << 30
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil || onDisk || fs.Bavail*uint64(fs.Bsize) < room {
		return os.TempDir()
	}
	return dir
}

// sweep removes files of test binaries that were killed or have no Main.
func sweep(tmp string) error {
	dirs, err := filepath.Glob(filepath.Join(tmp, dirPrefix+"*"))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		id, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), dirPrefix), "-")
		pid, err := strconv.Atoi(id)
		// ESRCH: there is no such process. The directory of another user's process (EPERM) stays.
		if err != nil || !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			continue
		}
		if err := os.RemoveAll(dir); err != nil && !errors.Is(err, os.ErrPermission) {
			return err
		}
	}
	return nil
}
