// Package pgtest gives each test a database of its own with Rail's tables.
// It uses the server that RAIL_TEST_DATABASE_URL names, else a private one for
// the whole test binary. A package that uses it should end its server with
//
//	func TestMain(m *testing.M) { pgtest.Main(m) }
package pgtest

import (
	"context"
	"crypto/rand"
	"strings"
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

func (c *cluster) database(t testing.TB, set migrate.Set) string {
	t.Helper()
	admin, err := c.dsn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tpl, err := template(t.Context(), admin, set)
	if err != nil {
		t.Fatal(err)
	}
	name := "rail_test_" + rand.Text()[:16]
	if err := exec(t.Context(), admin, "CREATE DATABASE "+quote(name)+" TEMPLATE "+quote(tpl)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { drop(t, admin, name) })
	dsn, err := withDatabase(admin, name)
	if err != nil {
		t.Fatal(err)
	}
	return dsn
}

func drop(t testing.TB, admin, name string) {
	ctx, cancel := context.WithTimeout(context.Background(), cleanupLimit)
	defer cancel()
	if err := exec(ctx, admin, "DROP DATABASE "+quote(name)+" WITH (FORCE)"); err != nil {
		t.Error(err)
	}
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
	admin, err := private.dsn(ctx)
	must(err)
	tpl, err := template(ctx, admin, migrate.Schema())
	must(err)
	name := "rail_example_" + strings.ToLower(rand.Text()[:16])
	must(exec(ctx, admin, "CREATE DATABASE "+quote(name)+" TEMPLATE "+quote(tpl)))
	dsn, err := withDatabase(admin, name)
	must(err)
	pool, err = postgres.Open(ctx, dsn, postgres.Options{MaxConns: 10})
	must(err)
	return pool, func() {
		pool.Close()
		must(exec(ctx, admin, "DROP DATABASE "+quote(name)))
	}
}
