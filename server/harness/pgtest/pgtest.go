// Package pgtest gives each test a new database with Rail's tables. It uses the
// server in RAIL_TEST_DATABASE_URL, else a private one for the whole test binary. A
// package that uses it should end its server with
//
//	func TestMain(m *testing.M) { pgtest.Main(m) }
package pgtest

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"rail/server/postgres"
	"rail/server/postgres/migrate"
)

// Zone is the session time zone of every test pool. Half an hour off and with
// daylight saving, it brings out code that depends on the session's zone.
const Zone = "America/St_Johns"

// cleanupLimit bounds dropping a database, which waits for its sessions to end.
const cleanupLimit = 30 * time.Second

// New returns a pool on a new database with Rail's tables. Both are removed when the
// test ends. It fails the test where there is no PostgreSQL.
func New(t testing.TB) *pgxpool.Pool {
	t.Helper()
	return Pool(t, DSN(t))
}

// DSN is like New but returns the database's URL.
func DSN(t testing.TB) string {
	t.Helper()
	return DSNFrom(t, migrate.Schema())
}

// Pool opens a pool of at most 10 connections, closed when the test ends.
func Pool(t testing.TB, dsn string) *pgxpool.Pool {
	t.Helper()
	pool, err := postgres.Open(t.Context(), dsn, postgres.Options{MaxConns: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// DurableDSN is like DSN on a server that flushes commits, as the binary requires.
func DurableDSN(t testing.TB) string {
	t.Helper()
	return durable.database(t, migrate.Schema())
}

// DSNFrom is like DSN with other migrations than Rail's.
func DSNFrom(t testing.TB, set migrate.Set) string {
	t.Helper()
	return private.database(t, set)
}

// database returns the DSN of a new database, dropped when the test ends.
func (c *cluster) database(t testing.TB, set migrate.Set) string {
	t.Helper()
	dsn, drop, err := c.create(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := drop(); err != nil {
			t.Error(err)
		}
	})
	return dsn
}

// create makes a database from the template of its migrations. drop removes it,
// with the sessions that are still on it.
func (c *cluster) create(ctx context.Context, set migrate.Set) (dsn string, drop func() error, err error) {
	admin, err := c.dsn(ctx)
	if err != nil {
		return "", nil, err
	}
	tpl, err := template(ctx, admin, set)
	if err != nil {
		return "", nil, err
	}
	name := "rail_test_" + rand.Text()[:16]
	// Cloning a template is much faster than the migrations.
	sql := "CREATE DATABASE " + quote(name) + " TEMPLATE " + quote(tpl)
	if c.server != nil {
		sql += " STRATEGY FILE_COPY" // in memory, its files are copied faster than its pages are logged
	}
	if err := exec(ctx, admin, sql); err != nil {
		return "", nil, err
	}
	dsn, err = withDatabase(admin, name)
	return dsn, func() error {
		// Not the test's context, which has ended by then.
		ctx, cancel := context.WithTimeout(context.Background(), cleanupLimit)
		defer cancel()
		return exec(ctx, admin, "DROP DATABASE "+quote(name)+" WITH (FORCE)")
	}, err
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

// Scratch is New for Examples, which are given no test: the caller closes the
// pool and drops the database with done. It panics where there is no PostgreSQL.
func Scratch(ctx context.Context) (pool *pgxpool.Pool, done func()) {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	dsn, drop, err := private.create(ctx, migrate.Schema())
	must(err)
	pool, err = postgres.Open(ctx, dsn, postgres.Options{MaxConns: 10})
	must(err)
	return pool, func() {
		pool.Close()
		must(drop())
	}
}
