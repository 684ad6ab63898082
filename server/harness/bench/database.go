package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"

	"rail/server/postgres/embedded"
	"rail/server/postgres/migrate"
)

// Private is a durable database server of the benchmark's own. DSN is that of its database;
// dir is deleted with everything in it.
type Private struct {
	dir, DSN, version string
	server            *embedded.Server
}

// settings prevents checkpoints during a run, which would slow some runs and not others.
// All else is PostgreSQL's default.
var settings = []string{
	"ALTER SYSTEM SET max_wal_size = '8GB'", "ALTER SYSTEM SET checkpoint_timeout = '30min'", "SELECT pg_reload_conf()",
}

// maxClients is the most connections of pgbench; the server's are beside them.
const maxClients = 256

// NewDatabase starts a server in a new directory under within, or under the temporary
// directory if within is "", with a database at the current schema.
func NewDatabase(ctx context.Context, within string) (*Private, error) {
	dir, err := os.MkdirTemp(within, "rail-bench-")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o711); err != nil { // PostgreSQL runs under another account
		return nil, err
	}
	p := &Private{dir: dir}
	p.server, err = embedded.Start(ctx, embedded.Options{
		Dir: filepath.Join(dir, "pg"), Durable: true, MaxConnections: maxClients + 100,
	})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := p.setUp(ctx); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// setUp creates the database and its tables, and notes the version for the table's notes.
func (p *Private) setUp(ctx context.Context) error {
	if err := p.exec(ctx, append(settings, "CREATE DATABASE bench")...); err != nil {
		return err
	}
	p.DSN = p.server.DSN("bench")
	return migrate.Up(ctx, p.DSN)
}

// TrimLog deletes most of the write-ahead log, after a load that filled it up to its maximum.
func (p *Private) TrimLog(ctx context.Context) error {
	return p.exec(ctx, "ALTER SYSTEM RESET max_wal_size", "SELECT pg_reload_conf()", "CHECKPOINT")
}

// exec runs statements as the server's administrator, and notes the server's version.
func (p *Private) exec(ctx context.Context, statements ...string) error {
	conn, err := pgx.Connect(ctx, p.server.DSN("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx) //nolint:errcheck // all statements are done
	p.version = conn.PgConn().ParameterStatus("server_version")
	for _, s := range statements {
		if _, err := conn.Exec(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// maxLogEnd is how many bytes of the server's log explain an error: some statements of a report.
const maxLogEnd = 16_000

// logEnd returns the last lines of the server's log, which have the statements that failed.
func (p *Private) logEnd() string {
	log, err := os.ReadFile(filepath.Join(p.dir, "pg", "postgres.log"))
	if err != nil {
		return err.Error()
	}
	return string(log[max(0, len(log)-maxLogEnd):])
}

// Close stops the server and deletes its data.
func (p *Private) Close() error { return errors.Join(p.server.Stop(), os.RemoveAll(p.dir)) }
