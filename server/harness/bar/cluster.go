package bar

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"rail/server/postgres/embedded"
	"rail/server/postgres/migrate"
)

// cluster is a durable PostgreSQL of the bar's own, which starts again after a
// kill. Durable means fsync: without it a crash may lose commits, and G7 would find faults of the test.
type cluster struct {
	dir       string
	server    *embedded.Server
	end       context.CancelFunc
	databases atomic.Int64
}

// newCluster starts the cluster. What restarts it after a kill ends with close and not with
// the context: the last checks of a run need a database too.
func newCluster(ctx context.Context) (*cluster, error) {
	dir, err := temporary()
	if err != nil {
		return nil, err
	}
	server, err := embedded.Start(ctx, embedded.Options{Dir: filepath.Join(dir, "pg"), Durable: true, MaxConnections: 150})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	keep, end := context.WithCancel(context.WithoutCancel(ctx))
	go server.Keep(keep)
	return &cluster{dir: dir, server: server, end: end}, nil
}

// close stops the cluster and removes its files.
func (c *cluster) close() error {
	c.end()
	return errors.Join(c.server.Stop(), os.RemoveAll(c.dir))
}

// database creates a database with Rail's tables and returns its DSN.
func (c *cluster) database(ctx context.Context) (string, error) {
	conn, err := pgx.Connect(ctx, c.server.DSN("postgres"))
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx) //nolint:errcheck // nothing is lost
	// Each system has a separate database: the faulty servers of G10 leave data that fails an audit.
	name := fmt.Sprintf("bar%d", c.databases.Add(1))
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return "", err
	}
	dsn := c.server.DSN(name)
	return dsn, migrate.Up(ctx, dsn)
}

// killPostmaster kills the parent of all processes of the cluster.
func (c *cluster) killPostmaster() error { return killPostmaster(filepath.Join(c.dir, "pg", "data")) }

// killPostmaster kills the parent of all processes of the PostgreSQL that works on a data directory.
func killPostmaster(data string) error {
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return err
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}

// answers waits until the cluster accepts connections again, at most 3 minutes: a recovery begins with a sync of the
// whole data directory.
func (c *cluster) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, c.server.DSN("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		if pause(ctx, 20*time.Millisecond) != nil {
			return err
		}
	}
}

// pause waits for d, or until the context ends.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
