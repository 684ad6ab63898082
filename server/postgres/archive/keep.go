package archive

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/server/clock"
)

const (
	// every is the time between two base backups, between the time between two checks.
	every   = 24 * time.Hour
	between = time.Minute
)

// Keeper makes the base backups of a cluster that archives.
type Keeper struct {
	Pool *pgxpool.Pool
	// History returns the folder that the cluster archives into, or "".
	History func() (string, error)
	// Days is the retention period of the archive.
	Days  int
	Clock clock.Clock
	Log   *slog.Logger
	// Manifest returns the manifest's members that the caller fills in.
	Manifest func(context.Context) (Manifest, error)
	// Made is called after each base backup.
	Made func(context.Context)

	failing string
}

// Keep makes a base backup whenever the last one is a day old, until ctx ends. It logs when
// archiving begins to fail and when it recovers.
func (k *Keeper) Keep(ctx context.Context) {
	for {
		k.note(ctx, errors.Join(k.archives(ctx), k.due(ctx)))
		if clock.Wait(ctx, between) != nil {
			return
		}
	}
}

// note logs the start and the end of a failure.
func (k *Keeper) note(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil:
	case err != nil && k.failing == "":
		k.Log.Error("archiving fails; PostgreSQL retains its WAL until it succeeds", "error", err)
		k.failing = err.Error()
	case err == nil && k.failing != "":
		k.Log.Info("archiving works again")
		k.failing = ""
	}
}

// archives returns an error if the last WAL file was not archived.
func (k *Keeper) archives(ctx context.Context) error {
	var failed *string
	err := k.Pool.QueryRow(ctx, `SELECT last_failed_wal FROM pg_stat_archiver
		WHERE last_failed_time > coalesce(last_archived_time, '-infinity')
		UNION ALL SELECT NULL LIMIT 1`).Scan(&failed)
	if err == nil && failed != nil {
		err = fmt.Errorf("%s is not archived (see postgres.log)", *failed)
	}
	return err
}

// due makes a base backup if the last one is old enough.
func (k *Keeper) due(ctx context.Context) error {
	history, err := k.history()
	if err != nil {
		return err
	}
	last, err := Newest(history)
	if err != nil || k.Clock.Now().Sub(last) < every {
		return err
	}
	_, err = k.Make(ctx)
	if errors.Is(err, ErrBusy) {
		return nil
	}
	return err
}

// history returns the folder that the cluster archives into.
func (k *Keeper) history() (string, error) {
	history, err := k.History()
	if err == nil && history == "" {
		err = errors.New("the private PostgreSQL was started without RAIL_ARCHIVE_DIR")
	}
	return history, err
}

// Make makes a base backup now, and removes files beyond the retention period.
func (k *Keeper) Make(ctx context.Context) (Base, error) {
	history, err := k.history()
	if err != nil {
		return Base{}, err
	}
	m, err := k.Manifest(ctx)
	if err != nil {
		return Base{}, err
	}
	b, err := Make(ctx, k.Pool.Config().ConnString(), history, m)
	if err != nil {
		return b, err
	}
	k.Made(ctx)
	return b, Prune(filepath.Dir(history), b.Ended.AddDate(0, 0, -k.Days))
}
