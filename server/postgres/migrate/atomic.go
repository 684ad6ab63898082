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

// A migration waits two seconds for a table (its lock_timeout) and then makes way
// for a moment, so that requests do not queue behind it. The moment is between half a
// pause and three halves: what comes at fixed intervals would meet it again.
const pause = time.Second

// attempts is how often a part of a migration is begun. Tests give up sooner.
var attempts = 30

// unknown is a number that no migration has.
const unknown = -2

// ErrBusy means that a migration could not lock its tables at any attempt. Nothing
// of it was kept: it can be started again.
var ErrBusy = errors.New("the tables that a migration changes were in use all the time")

// atomic makes a migration, or the last of its parts, and the record of its version one transaction: however
// it ends, the version says what is there. The driver alone records in separate
// transactions that a migration begins and that it has ended. The first of them
// waits for whoever reads the version, even a dump, and blocks every later reader.
type atomic struct {
	database.Driver
	ctx   context.Context //nolint:containedctx // the methods of a driver take none
	dsn   string
	next  int // the version that Run is to reach
	at    int // the version that Run has noted
	tell  func(version int)
	tried func(version, attempt int, err error) // hears of each attempt that was in vain
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

// then parts a migration into transactions.
const then = "\n-- Then, in a transaction of its own:\n"

// Run runs a migration. What must not keep others out for long, such as reading the
// whole of a table to validate a constraint, is a transaction of its own between
// two short ones. The version is noted with the last: a migration that ended in
// between is begun again, so each part but that must bear to be repeated.
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

// part runs a part of a migration, and again if its tables were in use. Statements
// that are sent as one text are one transaction.
func (a *atomic) part(sql string) error {
	var way *inTheWay
	defer func() { way.stop() }()
	for n := 1; ; n++ {
		err := cause(a.Driver.Run(strings.NewReader(sql)))
		if err == nil {
			return nil
		}
		if !busy(err) {
			return fmt.Errorf("migration %d failed, and its transaction was undone: %w", a.next, err)
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

// cause returns the error of the database alone. That of the driver has the whole text of the migration.
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
