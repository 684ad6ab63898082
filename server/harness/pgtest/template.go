package pgtest

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"rail/server/postgres/migrate"
)

// templateLock is the advisory lock under which processes make templates.
const templateLock = 0x7261696c

// templates caches the names of templates that exist.
var templates sync.Map

// template returns the name of a database with the set's tables, created by the first process that needs it. Nothing
// connects to it, because a session would prevent cloning it.
func template(ctx context.Context, admin string, set migrate.Set) (name string, err error) {
	sum, err := set.Hash()
	if err != nil {
		return "", err
	}
	// Migrations make partitions for the months to come, so a template lasts for one.
	name = "rail_tpl_" + sum[:16] + time.Now().Format("_200601")
	if _, ok := templates.Load(admin + name); ok {
		return name, nil
	}
	conn, err := pgx.Connect(ctx, admin)
	if err != nil {
		return "", err
	}
	// Closing the session releases the lock.
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", templateLock); err != nil {
		return "", err
	}
	if err := makeTemplate(ctx, conn, admin, name, set); err != nil {
		return "", err
	}
	templates.Store(admin+name, true)
	return name, nil
}

// makeTemplate makes the template under another name and renames it when it is complete, so that no test uses an
// incomplete one of a killed process.
func makeTemplate(ctx context.Context, conn *pgx.Conn, admin, name string, set migrate.Set) error {
	var exists bool
	err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&exists)
	if err != nil || exists {
		return err
	}
	half := name + "_half"
	for _, sql := range []string{
		"DROP DATABASE IF EXISTS " + quote(half) + " WITH (FORCE)",
		"CREATE DATABASE " + quote(half) + " TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C.UTF-8' LC_CTYPE 'C.UTF-8'",
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	dsn, err := withDatabase(admin, half)
	if err != nil {
		return err
	}
	if err := set.Up(ctx, dsn); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "ALTER DATABASE "+quote(half)+" RENAME TO "+quote(name))
	return err
}

// exec runs one statement on a new connection.
func exec(ctx context.Context, dsn, sql string) (err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	_, err = conn.Exec(ctx, sql)
	return err
}

// withDatabase returns the DSN, a URL or keywords, with another database and the
// tests' time zone. In the keyword form the last value counts.
func withDatabase(dsn, name string) (string, error) {
	if !strings.Contains(dsn, "://") {
		return dsn + " dbname=" + name + " timezone=" + Zone, nil
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", err
	}
	q := u.Query()
	q.Del("dbname")
	q.Set("timezone", Zone)
	u.Path, u.RawQuery = "/"+name, q.Encode()
	return u.String(), nil
}
