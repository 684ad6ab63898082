package schema_test

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/schema"
	"rail/server/cli/sample"
	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/harness/wait"
	"rail/server/ident"
	"rail/server/postgres/migrate"
	"rail/server/secret"
)

// modes are PostgreSQL's locks of tables, the weakest first.
var modes = []string{
	"AccessShareLock", "RowShareLock", "RowExclusiveLock", "ShareUpdateExclusiveLock", "ShareLock", "ShareRowExclusiveLock",
	"ExclusiveLock", "AccessExclusiveLock",
}

// later returns the migrations after the baselines, in order, and one more that holds the rules.
func later(t *testing.T) (fstest.MapFS, []uint) {
	t.Helper()
	files := fstest.MapFS{}
	entries, err := fs.ReadDir(schema.FS, ".")
	require.NoError(t, err)
	for _, e := range entries {
		text, err := fs.ReadFile(schema.FS, e.Name())
		require.NoError(t, err)
		files[e.Name()] = &fstest.MapFile{Data: text}
	}
	all := numbers(t)
	next := all[0] + 1
	files[fmt.Sprintf("%06d_example.up.sql", next)] = &fstest.MapFile{Data: []byte(
		"SET LOCAL lock_timeout = '2s';\nLOCK TABLE sales IN ACCESS EXCLUSIVE MODE;\nUPDATE sales SET updated_at = updated_at;\nALTER TABLE sales ADD COLUMN example text;\n")}
	files[fmt.Sprintf("%06d_example.down.sql", next)] = &fstest.MapFile{Data: []byte("ALTER TABLE sales DROP COLUMN example;\n")}
	all = append(slices.DeleteFunc(all, func(n uint) bool { return n <= lastBaseline }), next)
	slices.Sort(all)
	return files, all
}

// filledAt is a database with the sample in it, at the last baseline.
func filledAt(t *testing.T) (dsn string, pool *pgxpool.Pool) {
	t.Helper()
	dsn = pgtest.DSN(t)
	pool = pgtest.Pool(t, dsn)
	now := clock.At(time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC))
	org := ident.New(ident.Organization)
	require.NoError(t, db.New().OrganizationInsert(t.Context(), pool, db.OrganizationInsertParams{ID: org, Name: "Acme", CreatedAt: now}))
	keeper, err := secret.New([32]byte{1})
	require.NoError(t, err)
	require.NoError(t, sample.Load(t.Context(), pool, keeper, org, now))
	require.NoError(t, migrate.To(t.Context(), dsn, lastBaseline))
	pool.Reset() // prepared statements are of the tables of before
	return dsn, pool
}

// statements splits the text of a migration. Functions are quoted by dollars.
func statements(sql string) (out []string) {
	sql = comment.ReplaceAllString(sql, "")
	begin, quote := 0, ""
	for i := 0; i < len(sql); i++ {
		switch {
		case sql[i] == '$':
			tag := sql[i : i+1+strings.IndexByte(sql[i+1:], '$')+1]
			switch quote {
			case "":
				quote = tag
			case tag:
				quote = ""
			default:
				continue
			}
			i += len(tag) - 1
		case sql[i] == ';' && quote == "":
			out, begin = append(out, sql[begin:i]), i+1
		}
	}
	return append(out, sql[begin:])
}

// held returns the strongest lock of a transaction on each table.
func held(t *testing.T, tx pgx.Tx) map[string]int {
	t.Helper()
	rows, err := tx.Query(t.Context(), `SELECT l.relation::regclass::text, l.mode FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
		WHERE l.pid = pg_backend_pid() AND l.locktype = 'relation' AND l.granted AND c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace`)
	require.NoError(t, err)
	out := map[string]int{}
	var table, mode string
	_, err = pgx.ForEachRow(rows, []any{&table, &mode}, func() error {
		out[table] = max(out[table], slices.Index(modes, mode))
		return nil
	})
	require.NoError(t, err)
	return out
}

// stronger runs the parts of a migration, and returns the parts that upgrade a lock that conflicts with writers. A
// writer that locks the table in between would wait for the migration, and the migration for the writer: a deadlock.
func stronger(t *testing.T, dsn, sql string) (out []string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer conn.Close(t.Context()) // it was only for this
	for part := range strings.SplitSeq(sql, "\n-- Then, in a transaction of its own:\n") {
		tx, err := conn.Begin(t.Context())
		require.NoError(t, err)
		first := map[string]int{}
		for _, statement := range statements(part) {
			_, err := tx.Exec(t.Context(), statement)
			require.NoError(t, err, statement)
			for table, mode := range held(t, tx) {
				before, found := first[table]
				if found && mode > before && before > 0 && mode >= slices.Index(modes, "ShareLock") {
					out = append(out, fmt.Sprintf("%s on %s, then %s: %s", modes[before], table, modes[mode], strings.TrimSpace(statement)))
				}
				first[table] = max(before, mode)
			}
		}
		require.NoError(t, tx.Rollback(t.Context()))
	}
	return out
}

// TestStrongestLockFirst: every migration locks a table at first as strongly as it will need.
func TestStrongestLockFirst(t *testing.T) {
	t.Parallel()
	dsn, _ := filledAt(t)
	require.NotEmpty(t, stronger(t, dsn, "UPDATE sales SET updated_at = updated_at; ALTER TABLE sales ADD COLUMN x text;"))
	files, numbers := later(t)
	for _, n := range numbers {
		names, err := fs.Glob(files, fmt.Sprintf("%06d_*.up.sql", n))
		require.NoError(t, err)
		require.Empty(t, stronger(t, dsn, string(files[names[0]].Data)), "%s: lock these tables so at first", names[0])
		require.NoError(t, migrate.From(files).To(t.Context(), dsn, n))
	}
}

// writes are what servers do in one transaction, in their order: first what others refer to, then what refers to it.
var writes = [][]string{
	{"SELECT FROM programs FOR KEY SHARE", "UPDATE customers SET name = name WHERE id = (SELECT id FROM customers ORDER BY random() LIMIT 1)",
		"UPDATE sales SET updated_at = updated_at WHERE id = (SELECT id FROM sales ORDER BY random() LIMIT 1)"},
	{"SELECT FROM programs FOR KEY SHARE", "SELECT FROM sales WHERE id = (SELECT id FROM sales ORDER BY random() LIMIT 1) FOR UPDATE",
		"UPDATE refunds SET amount_minor = amount_minor WHERE id = (SELECT id FROM refunds ORDER BY random() LIMIT 1)",
		"UPDATE commissions SET updated_at = updated_at WHERE id IN (SELECT id FROM commissions WHERE status = 'pending' ORDER BY random() LIMIT 3)"},
	{"UPDATE payouts SET updated_at = updated_at WHERE id IN (SELECT id FROM payouts WHERE status = 'pending' LIMIT 2)",
		"UPDATE commissions SET updated_at = updated_at WHERE id IN (SELECT id FROM commissions WHERE status = 'due' ORDER BY random() LIMIT 2)"},
	{"UPDATE programs SET updated_at = updated_at", "DELETE FROM report_spans WHERE false", "DELETE FROM report_sums WHERE false",
		"DELETE FROM report_marks WHERE false"},
	{"UPDATE webhook_endpoints SET updated_at = updated_at", "UPDATE mails SET attempts = attempts"},
}

// write writes until ctx ends. It returns what went wrong that a server would not do again.
func write(ctx context.Context, pool *pgxpool.Pool, statements []string, done *atomic.Int64) error {
	for ctx.Err() == nil {
		err := pgx.BeginFunc(context.WithoutCancel(ctx), pool, func(tx pgx.Tx) error {
			for _, sql := range statements {
				if _, err := tx.Exec(context.WithoutCancel(ctx), sql); err != nil {
					return err
				}
				_ = clock.Wait(ctx, time.Millisecond) // as a server thinks between two trips
			}
			return nil
		})
		switch {
		case err == nil:
			done.Add(1)
		case !strings.Contains(err.Error(), "40P01") && !strings.Contains(err.Error(), "55P03") && !strings.Contains(err.Error(), "0A000"):
			return err
		}
	}
	return nil
}

// TestMigrationsUnderWrites: while servers write, a migration gets its tables at one of three attempts.
func TestMigrationsUnderWrites(t *testing.T) {
	t.Parallel()
	dsn, _ := filledAt(t)
	cfg, err := pgxpool.ParseConfig(dsn)
	require.NoError(t, err)
	cfg.ConnConfig.RuntimeParams["lock_timeout"] = "3000"
	cfg.MaxConns = 20
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	defer pool.Close()
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var done atomic.Int64
	for _, statements := range writes {
		for range 2 {
			all.Go(func() {
				if err := write(ctx, pool, statements, &done); err != nil {
					t.Error(err)
				}
			})
		}
	}
	defer all.Wait()
	defer stop()
	files, numbers := later(t)
	for _, n := range numbers {
		before, tries := done.Load(), 1
		wait.Until(t, func() bool { return done.Load() > before+20 })
		set := migrate.From(files).Tried(func(_, _ int, err error) {
			tries++
			t.Logf("migration %d makes way: %v", n, err)
		})
		require.NoError(t, set.To(t.Context(), dsn, n))
		require.LessOrEqual(t, tries, 3, "migration %d", n)
	}
}
