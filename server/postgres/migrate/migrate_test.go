package migrate_test

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"rail/server/harness/pgtest"
	"rail/server/harness/wait"
	"rail/server/postgres/migrate"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

func two() fstest.MapFS {
	return fstest.MapFS{
		"000001_a.up.sql": file("CREATE TABLE a ();"), "000001_a.down.sql": file("DROP TABLE a;"),
		"000007_b.up.sql": file("CREATE TABLE b ();"), "000007_b.down.sql": file("DROP TABLE b;"),
	}
}

// empty returns a database at version 0.
func empty(t *testing.T) string {
	dsn := pgtest.DSNFrom(t, migrate.From(fstest.MapFS{
		"000001_none.up.sql": file("SELECT 1;"), "000001_none.down.sql": file("SELECT 1;"),
	}))
	if _, err := pgtest.Pool(t, dsn).Exec(t.Context(), "DROP TABLE schema_migrations"); err != nil {
		t.Fatal(err)
	}
	return dsn
}

func expect(t *testing.T, dsn string, want uint, wantDirty bool) {
	t.Helper()
	if v, dirty, err := migrate.Version(t.Context(), dsn); err != nil || v != want || dirty != wantDirty {
		t.Errorf("version %d, dirty %t, %v; want %d, %t", v, dirty, err, want, wantDirty)
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestUpAndDown(t *testing.T) {
	var steps []int
	dsn, set := empty(t), migrate.From(two()).Telling(func(version int) { steps = append(steps, version) })
	expect(t, dsn, 0, false)
	ok(t, set.Up(t.Context(), dsn))
	expect(t, dsn, 7, false)
	ok(t, set.Up(t.Context(), dsn))
	if !slices.Equal(steps, []int{1, 7}) {
		t.Errorf("told of %v", steps)
	}
	ok(t, set.Down(t.Context(), dsn, 1))
	expect(t, dsn, 1, false)
	ok(t, set.Down(t.Context(), dsn, 1))
	expect(t, dsn, 0, false)
	if err := set.Down(t.Context(), dsn, 1); err == nil {
		t.Error("took back what is not there")
	}
	if err := set.Down(t.Context(), dsn, 0); err == nil {
		t.Error("took back 0 steps")
	}
}

func TestProgramsOwn(t *testing.T) {
	dsn := empty(t)
	ok(t, migrate.Up(t.Context(), dsn))
	latest, err := migrate.Latest()
	ok(t, err)
	expect(t, dsn, latest, false)
	first, err := migrate.Schema().First()
	ok(t, err)
	further, err := migrate.Schema().Missing(first)
	ok(t, err)
	ok(t, migrate.Down(t.Context(), dsn, further+1))
	expect(t, dsn, 0, false)
}

func TestSeveralAtOnce(t *testing.T) {
	dsn, set := empty(t), migrate.From(two())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := set.Up(t.Context(), dsn); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	expect(t, dsn, 7, false)
}

func TestNewerDatabase(t *testing.T) {
	dsn, files := empty(t), two()
	ok(t, migrate.From(files).Up(t.Context(), dsn))
	delete(files, "000007_b.up.sql")
	delete(files, "000007_b.down.sql")
	if err := migrate.From(files).Up(t.Context(), dsn); !errors.Is(err, migrate.ErrNewer) {
		t.Error(err)
	}
}

func TestFailedMigration(t *testing.T) {
	dsn, files := empty(t), two()
	files["000007_b.up.sql"] = file("CREATE TABLE half (); nonsense;")
	set := migrate.From(files)
	if err := set.Up(t.Context(), dsn); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Error(err)
	}
	expect(t, dsn, 1, false)
	var half bool
	ok(t, pgtest.Pool(t, dsn).QueryRow(t.Context(), "SELECT to_regclass('half') IS NOT NULL").Scan(&half))
	if half {
		t.Error("a part was kept")
	}
	ok(t, migrate.From(two()).Up(t.Context(), dsn))
	expect(t, dsn, 7, false)
}

// TestParts: if a migration's last part fails, the earlier parts are kept, and the next attempt
// repeats them; the version is that of the last part.
func TestParts(t *testing.T) {
	dsn, files := empty(t), two()
	begun := "CREATE TABLE IF NOT EXISTS b (); CREATE TABLE IF NOT EXISTS turns (n int); INSERT INTO turns VALUES (1);\n" +
		"-- Then, in a transaction of its own:\n"
	files["000007_b.up.sql"] = file(begun + "INSERT INTO turns VALUES (10); nonsense;")
	if err := migrate.From(files).Up(t.Context(), dsn); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Error(err)
	}
	expect(t, dsn, 1, false)
	files["000007_b.up.sql"] = file(begun + "INSERT INTO turns VALUES (100);")
	ok(t, migrate.From(files).Up(t.Context(), dsn))
	expect(t, dsn, 7, false)
	var sum int
	ok(t, pgtest.Pool(t, dsn).QueryRow(t.Context(), "SELECT sum(n) FROM turns").Scan(&sum))
	if sum != 1+1+100 {
		t.Errorf("the parts left %d", sum)
	}
}

func TestFailedElsewhere(t *testing.T) {
	dsn, set := empty(t), migrate.From(two())
	ok(t, set.Up(t.Context(), dsn))
	if _, err := pgtest.Pool(t, dsn).Exec(t.Context(), "UPDATE schema_migrations SET dirty = true"); err != nil {
		t.Fatal(err)
	}
	if err := set.Up(t.Context(), dsn); !errors.Is(err, migrate.ErrDirty) {
		t.Error(err)
	}
}

func TestLatest(t *testing.T) {
	for want, files := range map[uint]fs.FS{0: fstest.MapFS{}, 7: two()} {
		if v, err := migrate.From(files).Latest(); err != nil || v != want {
			t.Error(v, want, err)
		}
	}
}

func TestHash(t *testing.T) {
	files := two()
	before, err := migrate.From(files).Hash()
	ok(t, err)
	files["000007_b.up.sql"] = file("CREATE TABLE c ();")
	after, err := migrate.From(files).Hash()
	ok(t, err)
	if before == after {
		t.Error("a change left the hash as it was")
	}
}

// used returns a database at the first of two migrations, and a transaction that locks the table of
// the first.
func used(t *testing.T, second string) (string, migrate.Set, *pgxpool.Pool, pgx.Tx) {
	t.Helper()
	dsn, files := empty(t), two()
	first := fstest.MapFS{"000001_a.up.sql": files["000001_a.up.sql"], "000001_a.down.sql": files["000001_a.down.sql"]}
	ok(t, migrate.From(first).Up(t.Context(), dsn))
	files["000007_b.up.sql"] = file(second)
	pool := pgtest.Pool(t, dsn)
	tx, err := pool.Begin(t.Context())
	ok(t, err)
	_, err = tx.Exec(t.Context(), "LOCK TABLE a")
	ok(t, err)
	return dsn, migrate.From(files), pool, tx
}

const change = "CREATE TABLE b (); SET LOCAL lock_timeout = '50ms'; ALTER TABLE a ADD n int;"

// A migration that finds a table in use pauses and keeps nothing.
func TestTableInUse(t *testing.T) {
	dsn, set, pool, tx := used(t, change)
	short, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- set.Up(short, dsn) }()
	wait.ForLocks(t, pool, "relation", 1)
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	expect(t, dsn, 1, false)
	ok(t, tx.Rollback(t.Context()))
	ok(t, set.Up(t.Context(), dsn))
	expect(t, dsn, 7, false)
}

// The error of a migration is one line: its number, the reason, the blocking session, and the remedy.
func TestFailureIsOneLine(t *testing.T) {
	dsn, set, _, tx := used(t, "SET LOCAL lock_timeout = '400ms';\nALTER TABLE a ADD n int;\n"+strings.Repeat("SELECT 1;\n", 50))
	migrate.Attempts(t, 3)
	tries := 0
	err := set.Tried(func(int, int, error) { tries++ }).Up(t.Context(), dsn)
	if !errors.Is(err, migrate.ErrBusy) || tries != 3 {
		t.Fatal(err, tries)
	}
	for _, part := range []string{"migration 7: ", "at 3 attempts", "lock timeout", "was in the way, with: LOCK TABLE a", "run it again"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in: %v", part, err)
		}
	}
	if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "SELECT 1") {
		t.Errorf("more than one line, or the migration itself: %v", err)
	}
	ok(t, tx.Rollback(t.Context()))
	files := two()
	files["000007_b.up.sql"] = file(strings.Repeat("SELECT 1;\n", 50) + "SELECT nonsense;\n")
	err = migrate.From(files).Up(t.Context(), dsn)
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "migration 7 failed") ||
		!strings.Contains(err.Error(), "line 51: ERROR: column \"nonsense\" does not exist") {
		t.Error(err)
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	for at, want := range map[uint]int{1: 1, 7: 0} {
		if n, err := migrate.From(two()).Missing(at); err != nil || n != want {
			t.Error(at, n, err)
		}
	}
}

// It continues when the table is free, and other migrating processes wait.
func TestTableInUseOfTwo(t *testing.T) {
	dsn, set, pool, tx := used(t, change)
	one, two := make(chan error, 1), make(chan error, 1)
	go func() { one <- set.Up(t.Context(), dsn) }()
	wait.ForLocks(t, pool, "relation", 1)
	go func() { two <- set.Up(t.Context(), dsn) }()
	wait.ForLocks(t, pool, "advisory", 1)
	ok(t, tx.Rollback(t.Context()))
	ok(t, <-one)
	ok(t, <-two)
	expect(t, dsn, 7, false)
}

// After a deadlock with a writer, it is rolled back and retried.
func TestDeadlock(t *testing.T) {
	dsn, set, pool, tx := used(t, "CREATE TABLE b (); LOCK TABLE c; LOCK TABLE a;")
	_, err := pool.Exec(t.Context(), "CREATE TABLE c ()")
	ok(t, err)
	done := make(chan error, 1)
	go func() { done <- set.Up(t.Context(), dsn) }()
	wait.ForLocks(t, pool, "relation", 1)
	_, _ = tx.Exec(t.Context(), "LOCK TABLE c") // one of the two succeeds
	_ = tx.Rollback(t.Context())
	ok(t, <-done)
	expect(t, dsn, 7, false)
}

// Reverting retries too, and keeps tables that it could not lock.
func TestTableInUseDown(t *testing.T) {
	dsn, files := empty(t), two()
	files["000007_b.down.sql"] = file("SET LOCAL lock_timeout = '50ms'; DROP TABLE b;")
	set := migrate.From(files)
	ok(t, set.Up(t.Context(), dsn))
	pool := pgtest.Pool(t, dsn)
	tx, err := pool.Begin(t.Context())
	ok(t, err)
	_, err = tx.Exec(t.Context(), "SELECT FROM b")
	ok(t, err)
	short, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- set.Down(short, dsn, 1) }()
	wait.ForLocks(t, pool, "relation", 1)
	stop()
	if <-done == nil {
		t.Error("took a table that is read")
	}
	expect(t, dsn, 7, false)
	ok(t, tx.Rollback(t.Context()))
	ok(t, set.Down(t.Context(), dsn, 1))
	expect(t, dsn, 1, false)
}

// A dump reads the version for a long time and does not delay migrations.
func TestDumpMeanwhile(t *testing.T) {
	dsn, set, _, tx := used(t, "CREATE TABLE b ();")
	_, err := tx.Exec(t.Context(), "LOCK TABLE schema_migrations IN ACCESS SHARE MODE")
	ok(t, err)
	ok(t, set.Up(t.Context(), dsn))
	expect(t, dsn, 7, false)
	ok(t, tx.Rollback(t.Context()))
}

// The limits that a database sets for requests do not end a migration.
func TestUnbounded(t *testing.T) {
	dsn, files := empty(t), two()
	files["000007_b.up.sql"] = file("CREATE TABLE b (); SELECT pg_sleep(1.5);")
	_, err := pgtest.Pool(t, dsn).Exec(t.Context(),
		`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET statement_timeout = 1000', current_database()); END $$`)
	ok(t, err)
	ok(t, migrate.From(files).Up(t.Context(), dsn))
	expect(t, dsn, 7, false)
}

// The databases that a program supports.
func TestServes(t *testing.T) {
	dsn := pgtest.DSN(t)
	pool := pgtest.Pool(t, dsn)
	latest, err := migrate.Latest()
	ok(t, err)
	for _, c := range []struct {
		version int
		dirty   bool
		floor   int
		want    error
	}{
		{0, false, 0, nil}, {-1, false, 0, migrate.ErrOlder}, {0, true, 0, migrate.ErrDirty},
		{1, false, 0, nil}, {3, false, 0, nil}, {1, true, 0, migrate.ErrDirty}, // during an upgrade to the next release
		{1, false, 1, migrate.ErrNewer}, {2, false, 1, migrate.ErrNewer},
	} {
		_, err := pool.Exec(t.Context(), "UPDATE schema_migrations SET version = $1, dirty = $2", int(latest)+c.version,
			c.dirty)
		ok(t, err)
		_, err = pool.Exec(t.Context(), "UPDATE schema_floor SET version = $1", int(latest)+c.floor)
		ok(t, err)
		if err := migrate.Serves(t.Context(), pool); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	_, err = pool.Exec(t.Context(), "DROP TABLE schema_migrations")
	ok(t, err)
	if err := migrate.Serves(t.Context(), pool); err == nil {
		t.Error("serves without tables")
	}
}
