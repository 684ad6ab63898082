package migrate_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"rail/server/migrate"
	"rail/server/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

func two() fstest.MapFS {
	return fstest.MapFS{
		"000001_a.up.sql": file("CREATE TABLE a ();"), "000001_a.down.sql": file("DROP TABLE a;"),
		"000007_b.up.sql": file("CREATE TABLE b ();"), "000007_b.down.sql": file("DROP TABLE b;"),
	}
}

// empty is a database at version 0.
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
	dsn, set := empty(t), migrate.From(two())
	expect(t, dsn, 0, false)
	ok(t, set.Up(t.Context(), dsn))
	expect(t, dsn, 7, false)
	ok(t, set.Up(t.Context(), dsn))
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
	ok(t, migrate.Down(t.Context(), dsn, int(latest)))
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
	expect(t, dsn, 7, true)
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

// A migration that finds a table in use makes way, keeps nothing, and goes on
// once the table is free.
func TestTableInUse(t *testing.T) {
	dsn, files := empty(t), two()
	files["000007_b.up.sql"] = file("CREATE TABLE b (); SET LOCAL lock_timeout = '50ms'; ALTER TABLE a ADD n int;")
	first := fstest.MapFS{"000001_a.up.sql": files["000001_a.up.sql"], "000001_a.down.sql": files["000001_a.down.sql"]}
	ok(t, migrate.From(first).Up(t.Context(), dsn))
	pool := pgtest.Pool(t, dsn)
	tx, err := pool.Begin(t.Context())
	ok(t, err)
	_, err = tx.Exec(t.Context(), "LOCK TABLE a")
	ok(t, err)
	short, stop := context.WithCancel(t.Context())
	given, done := make(chan error, 1), make(chan error, 1)
	go func() { given <- migrate.From(files).Up(short, dsn) }()
	waiting := func() bool {
		var n int
		err := pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&n)
		return err == nil && n > 0
	}
	for !waiting() && t.Context().Err() == nil {
	}
	stop()
	if err := <-given; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	expect(t, dsn, 1, false)
	go func() { done <- migrate.From(files).Up(t.Context(), dsn) }()
	for !waiting() && t.Context().Err() == nil {
	}
	ok(t, tx.Rollback(t.Context()))
	ok(t, <-done)
	expect(t, dsn, 7, false)
}

// What a program can work with.
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
		{0, false, 0, nil}, {0, true, 0, migrate.ErrOlder}, {-1, false, 0, migrate.ErrOlder}, // that is at work, or missing
		{1, true, 0, nil}, {1, false, 0, nil}, {3, false, 0, nil}, // the next release is being put in place
		{1, false, 1, migrate.ErrNewer}, {2, true, 1, migrate.ErrNewer}, {1, true, 0, nil},
	} {
		_, err := pool.Exec(t.Context(), "UPDATE schema_migrations SET version = $1, dirty = $2", int(latest)+c.version, c.dirty)
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
