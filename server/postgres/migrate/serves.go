package migrate

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ErrEmpty means that no migration was applied yet.
var ErrEmpty = errors.New("the database has no tables")

// ErrOlder means that migrations of this program are missing in the database.
var ErrOlder = errors.New("the database is older than this program")

// Querier is a connection or a pool.
type Querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Serves returns nil if this program can work with the database, or ErrEmpty, ErrUnreleased,
// ErrOlder, ErrNewer or ErrDirty. A newer database is supported if schema_floor allows this
// program's version.
func Serves(ctx context.Context, db Querier) error {
	latest, err := Latest()
	if err != nil {
		return err
	}
	at, dirty, err := At(ctx, db)
	switch {
	case err != nil:
		return err
	case dirty:
		return fmt.Errorf("%w: migration %d", ErrDirty, at)
	case at == 0:
		return ErrEmpty
	case at < latest:
		if err := Schema().checkReleased(at); err != nil {
			return err
		}
		return fmt.Errorf("%w: it is at version %d, this program needs %d", ErrOlder, at, latest)
	case at == latest:
		return nil
	}
	var floor uint
	if err := db.QueryRow(ctx, "SELECT version FROM schema_floor").Scan(&floor); err != nil {
		return fmt.Errorf("schema floor: %w", err)
	}
	if latest < floor {
		return fmt.Errorf("%w: it is at version %d and serves programs from %d on, this one knows %d", ErrNewer, at, floor,
			latest)
	}
	return nil
}

// At reads which migration a database is at, 0 for an empty one, and whether that
// migration failed halfway.
func At(ctx context.Context, db Querier) (version uint, dirty bool, err error) {
	err = db.QueryRow(ctx, "SELECT version, dirty FROM schema_migrations").Scan(&version, &dirty)
	var refused *pgconn.PgError
	if errors.Is(err, pgx.ErrNoRows) || errors.As(err, &refused) && refused.Code == "42P01" { // no such table
		return 0, false, nil
	}
	return version, dirty, err
}
