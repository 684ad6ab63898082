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

	"rail/server/pgembed"
)

const dirPrefix = "rail-pgtest-"

// private is the test binary's own server, started by the first test to need it.
var private struct {
	once   sync.Once
	server *pgembed.Server
	dir    string
	err    error
}

// Main runs the tests, ends the private server if one was started, and exits.
// What after finds when all tests have passed fails the run too.
func Main(m *testing.M, after ...func() error) {
	code := m.Run()
	for _, check := range after {
		if code != 0 {
			break
		}
		if err := check(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if err := stop(); err != nil {
		fmt.Fprintln(os.Stderr, "pgtest:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func stop() error {
	if private.server == nil {
		return nil
	}
	return errors.Join(private.server.Stop(), os.RemoveAll(private.dir))
}

// serverDSN is a database of the server from which others can be made.
func serverDSN(ctx context.Context) (string, error) {
	if dsn := os.Getenv("RAIL_TEST_DATABASE_URL"); dsn != "" {
		return dsn, nil
	}
	private.once.Do(func() { private.err = startPrivate(context.WithoutCancel(ctx)) })
	if private.err != nil {
		return "", fmt.Errorf("test database (or set RAIL_TEST_DATABASE_URL): %w", private.err)
	}
	return private.server.DSN("postgres"), nil
}

func startPrivate(ctx context.Context) error {
	if err := sweep(os.TempDir()); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", fmt.Sprintf("%s%d-", dirPrefix, os.Getpid()))
	if err != nil {
		return err
	}
	// Passable, for the account that the server runs as when the tests are root's.
	if err := os.Chmod(dir, 0o711); err != nil {
		return err
	}
	server, err := pgembed.Start(ctx, pgembed.Options{Dir: dir, MaxConnections: 200})
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	private.server, private.dir = server, dir
	return nil
}

// sweep removes what test binaries that were killed, or have no Main, left.
func sweep(tmp string) error {
	dirs, err := filepath.Glob(filepath.Join(tmp, dirPrefix+"*"))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		id, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), dirPrefix), "-")
		pid, err := strconv.Atoi(id)
		if err != nil || !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			continue
		}
		if err := os.RemoveAll(dir); err != nil && !errors.Is(err, os.ErrPermission) {
			return err
		}
	}
	return nil
}
