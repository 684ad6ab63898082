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
	// every is the time between two base backups, between is how often it is looked at.
	every   = 24 * time.Hour
	between = time.Minute
)

// Keeper makes the base backups of a cluster that archives.
type Keeper struct {
	Pool *pgxpool.Pool
	// History is the folder that the cluster archives into now, or "".
	History func() (string, error)
	// Days is how far back the archive reaches.
	Days  int
	Clock clock.Clock
	Log   *slog.Logger
	// Manifest returns what only the caller knows of a backup.
	Manifest func(context.Context) (Manifest, error)
	// Made is called when a base backup was made.
	Made func(context.Context)

	failing string
}

// Keep makes a base backup whenever the last one is a day old, until ctx ends. It says when
// archiving begins to fail, and when it goes on.
func (k *Keeper) Keep(ctx context.Context) {
	for {
		k.note(ctx, errors.Join(k.archives(ctx), k.due(ctx)))
		if clock.Wait(ctx, between) != nil {
			return
		}
	}
}

// note logs a failure once, however long it lasts, and its end.
func (k *Keeper) note(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil:
	case err != nil && k.failing == "":
		k.Log.Error("archive fails: PostgreSQL keeps its WAL until it goes on", "error", err)
		k.failing = err.Error()
	case err == nil && k.failing != "":
		k.Log.Info("archive goes on")
		k.failing = ""
	}
}

// archives fails where the last file of WAL was not archived.
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

// due makes a base backup where one is due.
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

// Make makes a base backup now, and removes what is too old.
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
