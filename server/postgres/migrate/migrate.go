// Package migrate migrates a database to the version of this program. An advisory lock lets one of
// several processes work while the others wait.
package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"time"

	"github.com/golang-migrate/migrate/v4"
	driver "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"rail/schema"
)

// lockTimeout is how long one process waits for another's migrations: an index of a large table
// takes minutes.
const lockTimeout = 10 * time.Minute

// ErrNewer means that the database is newer than this program, for example when an older release
// starts after a newer one.
var ErrNewer = errors.New("the database is newer than this program")

// ErrDirty means that a migration of another tool, or of a release before 0.1, failed halfway and
// needs a manual repair.
var ErrDirty = errors.New("an earlier migration of the database failed halfway")

// ErrUnreleased means that the database is from before the first release, which restarted the
// numbers of migrations.
var ErrUnreleased = errors.New("the database is from before the first release and cannot be upgraded: start with an empty one")

// Set is a set of migrations.
type Set struct {
	files fs.FS
	tell  func(version int)
	tried func(version, attempt int, err error)
}

// From returns the set of migrations at the root of files, named NNNNNN_name.up.sql.
func From(files fs.FS) Set {
	return Set{files: files, tell: func(int) {}, tried: func(int, int, error) {}}
}

// Schema is the set that is built into this program.
func Schema() Set { return From(schema.FS) }

// Telling returns a set that calls tell before it migrates a database to each next version.
func (s Set) Telling(tell func(version int)) Set {
	s.tell = tell
	return s
}

// Tried returns a set that calls tried for each attempt that found the migration's tables in use.
func (s Set) Tried(tried func(version, attempt int, err error)) Set {
	s.tried = tried
	return s
}

// Up applies the missing migrations of the program's set; see Set.Up.
func Up(ctx context.Context, dsn string) error { return Schema().Up(ctx, dsn) }

// Down reverts the last steps migrations of the program's set.
func Down(ctx context.Context, dsn string, steps int) error { return Schema().Down(ctx, dsn, steps) }

// To migrates a database to a version of the program's set; see Set.To.
func To(ctx context.Context, dsn string, version uint) error {
	return Schema().To(ctx, dsn, version)
}

// Latest returns the highest number in the program's set, or 0 if it is empty.
func Latest() (uint, error) { return Schema().Latest() }

// Up applies the missing migrations. It may fail with ErrNewer, ErrDirty or ErrBusy. When ctx ends,
// it stops after the running migration.
func (s Set) Up(ctx context.Context, dsn string) error {
	if err := s.checkVersion(ctx, dsn); err != nil {
		return err
	}
	return s.run(ctx, dsn, (*migrate.Migrate).Up)
}

// Down reverts the last steps migrations, and with them their tables' data. steps must be at least
// 1. It fails if fewer were applied, and with ErrBusy like Up.
func (s Set) Down(ctx context.Context, dsn string, steps int) error {
	if steps < 1 {
		return fmt.Errorf("migrate down: %d steps", steps)
	}
	return s.run(ctx, dsn, func(m *migrate.Migrate) error { return m.Steps(-steps) })
}

// To applies migrations, or reverts them with their tables' data, until the database is at version.
func (s Set) To(ctx context.Context, dsn string, version uint) error {
	return s.run(ctx, dsn, func(m *migrate.Migrate) error { return m.Migrate(version) })
}

// Latest returns the highest number in the set, or 0 if it is empty.
func (s Set) Latest() (uint, error) {
	src, err := iofs.New(s.files, ".")
	if err != nil {
		return 0, fmt.Errorf("read migrations: %w", err)
	}
	v, err := src.First()
	for latest := uint(0); ; latest = v {
		if latest > 0 {
			v, err = src.Next(latest)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return latest, src.Close()
		}
		if err != nil {
			return 0, errors.Join(err, src.Close())
		}
	}
}

// First is the lowest number in the set, 0 when it is empty.
func (s Set) First() (uint, error) {
	src, err := iofs.New(s.files, ".")
	if err != nil {
		return 0, fmt.Errorf("read migrations: %w", err)
	}
	first, err := src.First()
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return first, errors.Join(err, src.Close())
}

// Missing returns how many migrations of the set a database at a version lacks.
func (s Set) Missing(at uint) (n int, err error) {
	src, err := iofs.New(s.files, ".")
	if err != nil {
		return 0, fmt.Errorf("read migrations: %w", err)
	}
	for ; ; n++ {
		if at, err = src.Next(at); err != nil {
			break
		}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return 0, errors.Join(err, src.Close())
	}
	return n, src.Close()
}

// raises matches the statement of a migration that sets the oldest supported program.
var raises = regexp.MustCompile(`(?m)^(?:UPDATE schema_floor SET version = |INSERT INTO schema_floor \(version\) VALUES \()(\d+)`)

// Floor returns the oldest version of programs that a database with all migrations of the set still
// supports: programs with fewer migrations must be stopped first. It is 0 if no migration sets one.
func (s Set) Floor() (floor uint, err error) {
	names, err := fs.Glob(s.files, "*.up.sql")
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		text, err := fs.ReadFile(s.files, name)
		if err != nil {
			return 0, fmt.Errorf("read migrations: %w", err)
		}
		for _, m := range raises.FindAllSubmatch(text, -1) {
			n, err := strconv.ParseUint(string(m[1]), 10, 32)
			if err != nil {
				return 0, err
			}
			floor = max(floor, uint(n))
		}
	}
	return floor, nil
}

// Version reads the migration number of the database, 0 for an empty one. dirty reports that this
// migration failed halfway. Version writes nothing.
func Version(ctx context.Context, dsn string) (version uint, dirty bool, err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return 0, false, err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	return At(ctx, conn)
}

// checkVersion returns ErrNewer if the database has migrations that s lacks, and
// ErrUnreleased if it has none of those in s.
func (s Set) checkVersion(ctx context.Context, dsn string) error {
	latest, err := s.Latest()
	if err != nil {
		return err
	}
	at, _, err := Version(ctx, dsn)
	if err != nil {
		return err
	}
	if at > latest {
		return fmt.Errorf("%w: it is at migration %d, the program at %d", ErrNewer, at, latest)
	}
	return s.checkReleased(at)
}

// checkReleased returns ErrUnreleased for a version that precedes the first migration of s.
func (s Set) checkReleased(at uint) error {
	first, err := s.First()
	if err == nil && at > 0 && at < first {
		return fmt.Errorf("%w (it is at migration %d)", ErrUnreleased, at)
	}
	return err
}

// run runs work with the migrations' lock, and stops between two migrations when ctx ends.
func (s Set) run(ctx context.Context, dsn string, work func(*migrate.Migrate) error) (err error) {
	m, err := s.open(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closed(m)) }()
	// The channel has a buffer, so that a late end of ctx does not block.
	stop := context.AfterFunc(ctx, func() { m.GracefulStop <- true })
	defer stop()
	err = work(m)
	if dirty := (migrate.ErrDirty{}); errors.As(err, &dirty) {
		return fmt.Errorf("%w: migration %d; repair it and set its row of schema_migrations", ErrDirty, dirty.Version)
	}
	if errors.Is(err, migrate.ErrNoChange) {
		err = nil
	}
	if err != nil {
		return err
	}
	return ctx.Err()
}

func (s Set) open(ctx context.Context, dsn string) (*migrate.Migrate, error) {
	src, err := iofs.New(s.files, ".")
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	db, err := openDB(ctx, dsn)
	if err != nil {
		return nil, errors.Join(err, src.Close())
	}
	target, err := driver.WithInstance(db, &driver.Config{})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("migrate: %w", err), src.Close(), db.Close())
	}
	m, err := migrate.NewWithInstance("embedded", src, "database", &atomic{
		Driver: target, ctx: ctx, dsn: dsn, at: unknown, tell: s.tell, tried: s.tried,
	})
	if err != nil {
		return nil, errors.Join(err, src.Close(), target.Close())
	}
	m.LockTimeout = lockTimeout
	return m, nil
}

// unbounded removes the time limits that a role or a database sets for requests: counting the rows
// of a large table takes longer. Each migration sets its lock_timeout.
const unbounded = "SET statement_timeout = 0; SET lock_timeout = 0; SET idle_in_transaction_session_timeout = 0"

// openDB opens the database without the time limits of requests.
func openDB(ctx context.Context, dsn string) (*sql.DB, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	cfg.RuntimeParams["application_name"] = applicationName
	db := stdlib.OpenDB(*cfg, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, unbounded)
		return err
	}))
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// closed closes the source and the database of m.
func closed(m *migrate.Migrate) error {
	src, db := m.Close()
	return errors.Join(src, db)
}
