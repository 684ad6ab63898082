package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Recover makes the cluster of o.Dir, which must not exist, from a base backup and WAL. fill writes
// them into a folder and its pg_wal. The cluster has the state of the moment to, or the end of the
// WAL if to is zero. It does not run afterwards. Recover returns the time of its last transaction.
// A failed recovery leaves no cluster.
func Recover(ctx context.Context, o Options, to time.Time, fill func(dir string) error) (last time.Time, err error) {
	whole := layout{dir: o.Dir}
	if Exists(o.Dir) {
		return last, fmt.Errorf("there is a database in %s", o.Dir)
	}
	o.Dir = filepath.Join(o.Dir, "recovery")
	if err := os.RemoveAll(o.Dir); err != nil {
		return last, err
	}
	c, unlock, err := open(ctx, o.withDefaults())
	if err != nil {
		return last, err
	}
	defer func() { err = errors.Join(err, unlock(), os.RemoveAll(o.Dir)) }()
	if err := c.refill(fill); err != nil {
		return last, err
	}
	// Use the programs of the base backup's major version.
	if c.bin, err = c.programs(); err != nil {
		return last, err
	}
	if last, err = c.replay(ctx, to); err != nil {
		return last, err
	}
	if err := whole.forget(); err != nil {
		return last, err
	}
	return last, errors.Join(os.Rename(c.data(), whole.data()), syncDir(whole.dir))
}

// refill writes the files and gives them to the server's account.
func (c cluster) refill(fill func(dir string) error) error {
	if err := makePrivate(c.data(), c.account); err != nil {
		return err
	}
	if err := fill(c.data()); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(c.data(), "recovery.signal"), nil, 0o600); err != nil {
		return err
	}
	return filepath.WalkDir(c.data(), func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, c.account.give(path))
	})
}

// replay lets the server replay its WAL and stops it. The server answers only after that, because
// it accepts no connections as a standby.
func (c cluster) replay(ctx context.Context, to time.Time) (last time.Time, err error) {
	settings := []string{"hot_standby=off", "restore_command=false", "recovery_target_action=promote"}
	s, err := c.run(ctx, append(slices.Clip(settings), until(to)...))
	// PostgreSQL requires a transaction after the moment. Without one, the whole WAL is the state
	// at that moment.
	if err != nil && strings.Contains(err.Error(), "recovery ended before configured recovery target was reached") {
		s, err = c.run(ctx, settings)
	}
	if err != nil {
		return last, err
	}
	last, err = s.lastReplayed(ctx)
	return last, errors.Join(err, s.Stop())
}

// until returns the setting for a moment, or none for the end.
func until(to time.Time) []string {
	if to.IsZero() {
		return nil
	}
	return []string{"recovery_target_time=" + to.UTC().Format("2006-01-02 15:04:05.999999-07:00")}
}

// lastReplayed returns the time of the recovery's last transaction, or zero.
func (s *Server) lastReplayed(ctx context.Context) (time.Time, error) {
	conn, err := pgx.Connect(ctx, s.DSN("postgres"))
	if err != nil {
		return time.Time{}, err
	}
	var at *time.Time
	err = conn.QueryRow(ctx, "SELECT pg_last_xact_replay_timestamp()").Scan(&at)
	if err = errors.Join(err, conn.Close(ctx)); err != nil || at == nil {
		return time.Time{}, err
	}
	return at.UTC(), nil
}
