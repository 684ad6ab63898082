package migrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/golang-migrate/migrate/v4/database"
	"github.com/jackc/pgx/v5/pgconn"

	"rail/server/clock"
)

// A migration waits two seconds for a table (its lock_timeout) and then makes way
// for a moment, so that requests do not queue behind it.
const (
	attempts = 30
	pause    = time.Second
)

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
	ctx  context.Context //nolint:containedctx // the methods of a driver take none
	next int             // the version that Run is to reach
	at   int             // the version that Run has noted
	tell func(version int)
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
	for n := 1; ; n++ {
		err := a.Driver.Run(strings.NewReader(sql))
		if err == nil || !busy(err) {
			return err
		}
		if n == attempts {
			return fmt.Errorf("%w: %w", ErrBusy, err)
		}
		if clock.Wait(a.ctx, pause) != nil {
			return a.ctx.Err()
		}
	}
}

// busy reports whether a statement failed by lock_timeout or a deadlock.
func busy(err error) bool {
	var failed database.Error
	var refused *pgconn.PgError
	return errors.As(err, &failed) && errors.As(failed.OrigErr, &refused) &&
		(refused.Code == "55P03" || refused.Code == "40P01")
}
