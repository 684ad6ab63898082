package migrate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/jackc/pgx/v5/pgconn"
)

// A migration waits two seconds for a table (its lock_timeout), so that requests
// do not queue behind it for longer, and then makes way for a moment.
const (
	attempts = 30
	pause    = time.Second
)

// ErrBusy means that a table was never free for a migration. Nothing of it was
// kept: it can be begun again.
var ErrBusy = errors.New("a table that a migration changes was in use all the time")

// patiently goes up, and tries a migration again that found a table in use.
func (s Set) patiently(ctx context.Context, m *migrate.Migrate) error {
	for n := 1; ; n++ {
		err := m.Up()
		if !inUse(err) {
			return err
		}
		if undone := s.undo(m); undone != nil {
			return errors.Join(err, undone)
		}
		if n == attempts {
			return fmt.Errorf("%w: %w", ErrBusy, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// inUse tells a statement that ran into lock_timeout.
func inUse(err error) bool {
	var failed database.Error
	var refused *pgconn.PgError
	return errors.As(err, &failed) && errors.As(failed.OrigErr, &refused) && refused.Code == "55P03"
}

// undo sets the version back to the one before: each migration is one
// transaction, of which nothing was kept.
func (s Set) undo(m *migrate.Migrate) error {
	failed, _, err := m.Version()
	if err != nil {
		return err
	}
	src, err := iofs.New(s.files, ".")
	if err != nil {
		return err
	}
	before, err := src.Prev(failed)
	if errors.Is(err, fs.ErrNotExist) {
		return errors.Join(m.Force(database.NilVersion), src.Close())
	}
	return errors.Join(err, m.Force(int(before)), src.Close())
}
