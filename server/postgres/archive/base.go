package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"rail/server/clock"
	"rail/server/postgres/embedded"
)

// lock is the number of the advisory lock for base backups.
const lock = 7_245_001

// archiveTimeout bounds the wait for the last WAL file of a base backup.
const archiveTimeout = 5 * time.Minute

// ErrBusy means that another base backup is running.
var ErrBusy = errors.New("another base backup is running")

// Make makes a base backup of the cluster at dsn, which archives into history. The caller fills in
// the other members of m.
func Make(ctx context.Context, dsn, history string, m Manifest) (Base, error) {
	b := Base{Manifest: m, history: history}
	conn, err := replication(ctx, dsn)
	if err != nil {
		return b, err
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing is lost
	if got, err := value(ctx, conn, fmt.Sprintf("SELECT pg_try_advisory_lock(%d)", lock)); err != nil || got != "t" {
		return b, errors.Join(err, ErrBusy)
	}
	if err := sweep(history); err != nil {
		return b, err
	}
	if err := b.copy(ctx, conn); err != nil {
		return b, err
	}
	if err := archived(ctx, filepath.Join(embedded.WAL(history), b.LastWAL+".gz")); err != nil {
		return b, err
	}
	if err := b.complete(); err != nil {
		return b, err
	}
	return read(filepath.Join(b.dir, "rail.json"))
}

// replication opens a replication connection, which may copy a cluster.
func replication(ctx context.Context, dsn string) (*pgconn.PgConn, error) {
	cfg, err := pgconn.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	cfg.RuntimeParams["replication"] = "database"
	return pgconn.ConnectConfig(ctx, cfg)
}

// copy makes PostgreSQL write its files. The transaction afterwards lets a recovery detect that it
// has passed every moment before the backup.
func (b *Base) copy(ctx context.Context, conn *pgconn.PgConn) (err error) {
	if b.Began, err = now(ctx, conn); err != nil {
		return err
	}
	b.dir = filepath.Join(embedded.Bases(b.history), b.Began.Format(stamp))
	const command = `BASE_BACKUP (LABEL 'rail', CHECKPOINT 'fast', WAIT false, MANIFEST 'no',
		COMPRESSION 'gzip', COMPRESSION_DETAIL '1', TARGET 'server', TARGET_DETAIL '%s')`
	got, err := values(ctx, conn, fmt.Sprintf(command, strings.ReplaceAll(b.dir, "'", "''")))
	if err != nil {
		return err
	}
	if b.FirstWAL, err = fileOf(got[0]); err != nil {
		return err
	}
	timeline := got[0][1]
	if b.Ended, err = now(ctx, conn); err != nil {
		return err
	}
	if _, err := value(ctx, conn, "SELECT pg_current_xact_id()"); err != nil {
		return err
	}
	last, err := value(ctx, conn, "SELECT pg_switch_wal() - 1::numeric")
	if err != nil {
		return err
	}
	b.LastWAL, err = fileOf([]string{last, timeline})
	return err
}

// fileOf returns the WAL file of a position and a timeline in PostgreSQL's notation.
func fileOf(at []string) (string, error) {
	high, low, _ := strings.Cut(at[0], "/")
	h, err := strconv.ParseUint(high, 16, 32)
	l, err2 := strconv.ParseUint(low, 16, 32)
	timeline, err3 := strconv.ParseUint(at[1], 10, 32)
	return name(uint32(timeline), h<<32+l), errors.Join(err, err2, err3)
}

// now returns the database's time, which dates commits.
func now(ctx context.Context, conn *pgconn.PgConn) (time.Time, error) {
	text, err := value(ctx, conn, "SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')")
	if err != nil {
		return time.Time{}, err
	}
	return time.Parse(time.RFC3339Nano, text)
}

// value runs a command and returns the first value of its answer.
func value(ctx context.Context, conn *pgconn.PgConn, sql string) (string, error) {
	rows, err := values(ctx, conn, sql)
	if err != nil {
		return "", err
	}
	return rows[0][0], nil
}

// values runs a command and returns the rows of all its results, at least one. A replication
// connection only supports the simple protocol.
func values(ctx context.Context, conn *pgconn.PgConn, sql string) (out [][]string, err error) {
	results, err := conn.Exec(ctx, sql).ReadAll()
	if err != nil {
		return nil, err
	}
	for _, r := range results {
		for _, row := range r.Rows {
			var texts []string
			for _, v := range row {
				texts = append(texts, string(v))
			}
			out = append(out, texts)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no answer to %s", sql)
	}
	return out, nil
}

// archived waits until PostgreSQL has archived a file.
func archived(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, archiveTimeout)
	defer cancel()
	for {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := clock.Wait(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("PostgreSQL has not archived %s (see postgres.log): %w", path, err)
		}
	}
}

// complete writes rail.json, which completes the backup.
func (b *Base) complete() error {
	raw, err := json.MarshalIndent(b.Manifest, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(b.dir, "rail.json.*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(append(raw, '\n'))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(b.dir, "rail.json"))
}
