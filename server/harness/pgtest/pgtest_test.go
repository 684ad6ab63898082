package pgtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"

	"rail/server/postgres/migrate"
)

func TestMain(m *testing.M) { Main(m) }

func bookTable() migrate.Set {
	return migrate.From(fstest.MapFS{
		"000001_books.up.sql":   {Data: []byte("CREATE TABLE books (id int PRIMARY KEY, at timestamptz);")},
		"000001_books.down.sql": {Data: []byte("DROP TABLE books;")},
	})
}

func TestClonesAreApart(t *testing.T) {
	for _, name := range []string{"one", "two", "three"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := Pool(t, DSNFrom(t, bookTable()))
			if _, err := pool.Exec(t.Context(), "INSERT INTO books VALUES (1, now())"); err != nil {
				t.Fatal(err)
			}
			var zone string
			var at time.Time
			err := pool.QueryRow(t.Context(), "SELECT current_setting('timezone'), at FROM books").Scan(&zone, &at)
			if err != nil || zone != Zone || at.Location() != time.UTC {
				t.Error(zone, at, err)
			}
		})
	}
}

func TestProgramSchema(t *testing.T) {
	pool := New(t)
	latest, err := migrate.Latest()
	if err != nil {
		t.Fatal(err)
	}
	var at uint
	if err := pool.QueryRow(t.Context(), "SELECT version FROM schema_migrations").Scan(&at); err != nil || at != latest {
		t.Error(at, latest, err)
	}
}

func TestDropped(t *testing.T) {
	var dsn string
	t.Run("inner", func(t *testing.T) {
		dsn = DSNFrom(t, bookTable())
		Pool(t, dsn)
	})
	if _, err := pgx.Connect(t.Context(), dsn); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Error(err)
	}
}

func TestWithDatabase(t *testing.T) {
	for dsn, want := range map[string]string{
		"host=h dbname=x":                    "host=h dbname=x dbname=new timezone=America/St_Johns",
		"postgres://u:p@h/x?sslmode=disable": "postgres://u:p@h/new?sslmode=disable&timezone=America%2FSt_Johns",
	} {
		if got, err := withDatabase(dsn, "new"); err != nil || got != want {
			t.Error(got, err)
		}
	}
}

func TestSweep(t *testing.T) {
	tmp := t.TempDir()
	dead, live := filepath.Join(tmp, dirPrefix+"999999999-x"), filepath.Join(tmp, dirPrefix+"1-x")
	for _, dir := range []string{dead, live} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := sweep(tmp); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dead); !os.IsNotExist(err) {
		t.Error("kept a dead binary's directory")
	}
	if _, err := os.Stat(live); err != nil {
		t.Error(err)
	}
}
