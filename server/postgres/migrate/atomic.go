package migrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/golang-migrate/migrate/v4/database"
	"github.com/jackc/pgx/v5/pgconn"

	"rail/server/clock"
)

// A migration waits two seconds for a table (its lock_timeout) and then pauses, so that requests do
// not queue behind it. The pause is random, between a half and three halves, so that it does not
// meet periodic work again.
const pause = time.Second

// attempts is the number of attempts at a part of a migration. Tests use fewer.
var attempts = 30

// unknown is not the number of any migration.
const unknown = -2

// ErrBusy means that a migration could not lock its tables in any attempt. Nothing of it was kept,
// and it can be run again.
var ErrBusy = errors.New("the tables that a migration changes were in use all the time")

// atomic runs a migration, or the last of its parts, and the record of its version in one
// transaction, so that the version always matches the tables. The driver itself records the begin
// and the end of a migration in separate transactions. The first of them waits for all readers of
// the version, such as a dump, and blocks later readers.
type atomic struct {
	database.Driver
	ctx   context.Context //nolint:containedctx // the methods of a driver take none
	dsn   string
	next  int // the version to reach
	at    int // the version that Run has recorded
	tell  func(version int)
	tried func(version, attempt int, err error) // called for each failed attempt
}

// SetVersion does nothing if Run records the version, or has recorded it.
func (a *atomic) SetVersion(version int, dirty bool) error {
	if dirty {
		a.next = version
		a.tell(version)
		return nil
	}
	if version == a.at {
		return nil
	}
	return a.Driver.Run(bytes.NewReader(note(version)))
}

// note returns the SQL that records a version.
func note(version int) []byte {
	sql := "DELETE FROM schema_migrations;"
	if version != database.NilVersion {
		sql += fmt.Sprintf(" INSERT INTO schema_migrations (version, dirty) VALUES (%d, false);", version)
	}
	return []byte(sql)
}

// then separates a migration into transactions.
const then = "\n-- Then, in a transaction of its own:\n"

// Run runs a migration. Long work that must not hold strong locks, such as scanning a table to
// validate a constraint, is a separate transaction between two short ones. The version is recorded
// with the last part. An interrupted migration starts again, so all parts except the last must be
// repeatable.
func (a *atomic) Run(migration io.Reader) error {
	sql, err := io.ReadAll(migration)
	if err != nil {
		return err
	}
	for part := range strings.SplitSeq(string(sql)+"\n;"+string(note(a.next)), then) {
		if err := a.part(part); err != nil {
			return err
		}
	}
	a.at = a.next
	return nil
}

// part runs a part of a migration, and repeats it if its tables were in use. Statements sent as one
// text are one transaction.
func (a *atomic) part(sql string) error {
	var way *inTheWay
	defer func() { way.stop() }()
	for n := 1; ; n++ {
		err := cause(a.Driver.Run(strings.NewReader(sql)))
		if err == nil {
			return nil
		}
		if !busy(err) {
			return fmt.Errorf("migration %d failed, and its transaction was rolled back: %w", a.next, err)
		}
		a.tried(a.next, n, err)
		if n == attempts {
			return fmt.Errorf("migration %d: %w, at %d attempts (%w), and nothing of the last one was kept%s: run it again at a quieter time",
				a.next, ErrBusy, attempts, err, way)
		}
		if way == nil {
			way = watchFor(a.ctx, a.dsn)
		}
		if clock.Wait(a.ctx, pause/2+rand.N(pause)) != nil {
			return a.ctx.Err()
		}
	}
}

// cause returns the database's error without the text of the migration, which the driver's error contains.
func cause(err error) error {
	failed, ok := errors.AsType[database.Error](err)
	if !ok || failed.OrigErr == nil {
		return err
	}
	refused, ok := errors.AsType[*pgconn.PgError](failed.OrigErr)
	if ok && refused.Position > 0 {
		return fmt.Errorf("line %d: %w", failed.Line, failed.OrigErr)
	}
	return failed.OrigErr
}

// busy reports whether a statement failed by lock_timeout or a deadlock.
func busy(err error) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (refused.Code == "55P03" || refused.Code == "40P01")
}
