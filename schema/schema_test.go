package schema_test

import (
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"rail/schema"
	"rail/server/harness/pgtest"
	"rail/server/postgres/migrate"
	"rail/server/postgres/pgtx"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// index is a unique index, primary keys included.
type index struct {
	Table, Name string
	Primary     bool
	Columns     []string // a column, or an expression as PostgreSQL writes it
	Owned       bool     // the first column is the id of an object with a tenant, by a foreign key or its name
	Hashed      bool     // the first column is the hash of a random token
}

func uniqueIndexes(t *testing.T, pool *pgxpool.Pool) []index {
	rows, err := pool.Query(t.Context(), `
		SELECT c.relname AS table, i.relname AS name, x.indisprimary AS primary,
			ARRAY(SELECT pg_get_indexdef(x.indexrelid, k, true) FROM generate_series(1, x.indnkeyatts) k) AS columns,
			EXISTS (SELECT FROM pg_attribute a JOIN pg_attribute o ON o.attname = 'org_id'
					AND (o.attrelid = to_regclass(replace(a.attname, '_id', 's')) OR o.attrelid IN (SELECT f.confrelid
						FROM pg_constraint f WHERE f.contype = 'f' AND f.conrelid = c.oid AND a.attnum = ANY (f.conkey)))
				WHERE a.attrelid = c.oid AND a.attnum = x.indkey[0]) AS owned,
			EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum = x.indkey[0]
				AND a.attname IN ('hash', 'token_hash') AND a.atttypid = 'bytea'::regtype) AS hashed
		FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class c ON c.oid = x.indrelid
		WHERE x.indisunique AND NOT c.relispartition AND c.relnamespace = 'public'::regnamespace AND c.relname <> 'schema_migrations'
		ORDER BY 1, 2`)
	require.NoError(t, err)
	out, err := pgx.CollectRows(rows, pgx.RowToStructByName[index])
	require.NoError(t, err)
	require.Greater(t, len(out), 30)
	return out
}

// serverMade lists the unique indexes that begin with no organization, program, object of a program or hash. The server
// makes their values, so that no refusal shows a client what another organization has.
var serverMade = map[string]string{
	"publishable_keys_key_key": "a random token",
	"links_short_slug_key":     "a random slug; the redirect knows no organization",
	"partners_mail_token_key":  "a random token",
	"key_fingerprints_pkey":    "the fingerprint of a key of the server",
	"certificates_pkey":        "a host of the service",
}

func TestUniqueIndexesBeginWithTenant(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, x := range uniqueIndexes(t, pgtest.New(t)) {
		_, listed := serverMade[x.Name]
		first := x.Columns[0]
		tenant := first == "org_id" || first == "program_id" || x.Primary && len(x.Columns) == 1 && first == "id" ||
			x.Owned || x.Hashed
		require.NotEqual(t, tenant, listed,
			"%s on %s (%s): begins with the organization, program, an object of it or the hash of a token, is a primary key "+
				"on id, or is listed, and one of these only",
			x.Name, x.Table, strings.Join(x.Columns, ", "))
		seen[x.Name] = true
	}
	for name := range serverMade {
		require.True(t, seen[name], "%s is not an index: take it off the list", name)
	}
}

func TestEveryConstraintIsMapped(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	// A request that loses a race for a unique value is retried, so that its second
	// attempt finds the other row before it writes.
	raced := func(code, name string, want bool) {
		t.Helper()
		require.Equal(t, want, pgtx.ConstraintMeaning(name) == pgtx.Raced, "the meaning of %s", name)
		require.Equal(t, want, pgtx.Again(fmt.Errorf("write: %w", &pgconn.PgError{Code: code, ConstraintName: name})),
			"%s of %s", code, name)
	}
	for _, x := range uniqueIndexes(t, pool) {
		if !x.Primary {
			require.Regexp(t, `^`+x.Table+`_\w+_key$`, x.Name)
			raced("23505", x.Name, true)
			continue
		}
		require.Equal(t, x.Table+"_pkey", x.Name)
		random := len(x.Columns) == 1 && (x.Columns[0] == "id" || x.Columns[0] == "token_hash")
		raced("23505", x.Name, !random)
	}
	rows, err := pool.Query(t.Context(), `
		SELECT c.relname, k.conname, k.contype::text FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
		WHERE c.relnamespace = 'public'::regnamespace AND NOT c.relispartition AND c.relname <> 'schema_migrations' AND k.contype <> 'n' -- NOT NULL, named by PostgreSQL 18
		ORDER BY 1, 2`)
	require.NoError(t, err)
	var table, name, kind string
	kinds := map[string]int{}
	_, err = pgx.ForEachRow(rows, []any{&table, &name, &kind}, func() error {
		kinds[kind]++
		switch kind {
		case "p", "u": // checked above as an index
			require.Regexp(t, `^`+table+`_(\w+_key|pkey)$`, name)
		case "f":
			require.Regexp(t, `^`+table+`_\w+_fkey$`, name)
			raced("23503", name, true)
		case "c":
			require.Regexp(t, `^`+table+`_\w+_check$`, name)
			raced("23514", name, false)
		case "x":
			raced("23P01", name, true)
		default:
			require.Fail(t, "an unknown kind of constraint", "%s %s", kind, name)
		}
		return nil
	})
	require.NoError(t, err)
	for _, kind := range []string{"p", "u", "f", "c"} {
		require.NotZero(t, kinds[kind], kind)
	}
}

// TestHistoryIsAppendOnly violates the constraints that triggers check.
func TestHistoryIsAppendOnly(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	for sql, name := range map[string]string{
		"UPDATE ledger_entries SET amount_minor = 1":    "ledger_entries_append_only",
		"DELETE FROM ledger_entries":                    "ledger_entries_append_only",
		"TRUNCATE ledger_entries":                       "ledger_entries_append_only",
		"UPDATE audit_log_entries SET reason = 'other'": "audit_log_entries_append_only",
		"DELETE FROM audit_log_entries":                 "audit_log_entries_append_only",
		"TRUNCATE audit_log_entries":                    "audit_log_entries_append_only",
		"UPDATE events SET body = '{}'":                 "events_append_only",
		"UPDATE statements SET number = 'x'":            "statements_append_only",
		"TRUNCATE statements":                           "statements_append_only",
	} {
		_, err := pool.Exec(t.Context(), sql)
		var pg *pgconn.PgError
		require.ErrorAs(t, err, &pg, sql)
		require.Equal(t, name, pg.ConstraintName, sql)
		require.Equal(t, pgtx.Bug, pgtx.ConstraintMeaning(name))
		require.False(t, pgtx.Again(err), sql)
	}
}

// Release 0.1.0 has the baselines. Servers keep running during every later migration, so it must follow more rules.
const firstBaseline, lastBaseline = 101, 113

var migration = regexp.MustCompile(`^(\d{6})_([a-z0-9_]+)\.(up|down)\.sql$`)

func TestMigrationsAreNumbered(t *testing.T) {
	t.Parallel()
	entries, err := fs.ReadDir(schema.FS, ".")
	require.NoError(t, err)
	names := map[string]map[string]string{} // number, direction, name
	for _, e := range entries {
		m := migration.FindStringSubmatch(e.Name())
		require.NotNil(t, m, "%s is not named NNNNNN_name.up.sql or .down.sql", e.Name())
		if names[m[1]] == nil {
			names[m[1]] = map[string]string{}
		}
		require.Empty(t, names[m[1]][m[3]], "%s: the number is taken", e.Name())
		names[m[1]][m[3]] = m[2]
	}
	require.GreaterOrEqual(t, len(names), lastBaseline-firstBaseline+1)
	for n := range len(names) {
		i := fmt.Sprintf("%06d", firstBaseline+n)
		require.NotEmpty(t, names[i]["up"], "the numbers have a gap at %s", i)
		require.Equal(t, names[i]["up"], names[i]["down"], "migration %s is not both ways under one name", i)
	}
}

// numbers returns the numbers of all migrations, the last one first.
func numbers(t *testing.T) (all []uint) {
	files, err := fs.Glob(schema.FS, "*.up.sql")
	require.NoError(t, err)
	for n := firstBaseline + len(files) - 1; n >= firstBaseline; n-- {
		all = append(all, uint(n))
	}
	return all
}

// described returns everything in the schema public, in the words of PostgreSQL's catalog
// functions.
func described(t *testing.T, pool *pgxpool.Pool) []string {
	rows, err := pool.Query(t.Context(), `
		SELECT 'column ' || c.relname || ' ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull || ' ' || a.attidentity::text || a.attgenerated::text
			|| ' ' || a.attcollation::regcollation || ' ' || coalesce(pg_get_expr(d.adbin, d.adrelid), '')
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
		WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND c.relname <> 'schema_migrations'
		UNION ALL SELECT 'relation ' || relkind::text || ' ' || relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relname NOT LIKE 'schema_migrations%'
		UNION ALL SELECT 'index ' || indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename <> 'schema_migrations'
		UNION ALL SELECT 'constraint ' || conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
			WHERE connamespace = 'public'::regnamespace AND conrelid <> 'schema_migrations'::regclass
		UNION ALL SELECT 'trigger ' || pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
		UNION ALL SELECT 'function ' || pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
		UNION ALL SELECT 'type ' || typname FROM pg_type WHERE typnamespace = 'public'::regnamespace AND typtype IN ('e', 'd', 'r')
		ORDER BY 1`)
	require.NoError(t, err)
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return out
}

func TestMigrationsUpDownUp(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSNFrom(t, migrate.From(fstest.MapFS{
		"000001_none.up.sql": {Data: []byte("SELECT 1;")}, "000001_none.down.sql": {Data: []byte("SELECT 1;")},
	}))
	pool := pgtest.Pool(t, dsn)
	_, err := pool.Exec(t.Context(), "DROP TABLE schema_migrations")
	require.NoError(t, err)
	all := append(numbers(t), 0)

	require.NoError(t, migrate.Up(t.Context(), dsn))
	first := described(t, pool)
	require.Greater(t, len(first), 300)
	// Each migration is reverted and applied again on its own, the last one first.
	for i, before := range all[1:] {
		require.NoError(t, migrate.Down(t.Context(), dsn, i+1))
		at, dirty, err := migrate.Version(t.Context(), dsn)
		require.NoError(t, err)
		require.Equal(t, before, at)
		require.False(t, dirty)
		if before == 0 {
			require.Empty(t, described(t, pool), "left behind")
		}
		require.NoError(t, migrate.Up(t.Context(), dsn))
		require.Equal(t, first, described(t, pool), "after taking back to %d", before)
	}
}

// adds matches statements that servers of the release before work with.
var adds = regexp.MustCompile(`(?is)^(SET LOCAL lock_timeout = '2s'|CREATE TABLE .*|CREATE INDEX .*|CREATE VIEW .*|UPDATE schema_floor SET version = \d+)$`)

var (
	comment    = regexp.MustCompile(`--.*`)
	newColumns = regexp.MustCompile(`(?is)^ALTER TABLE \w+ ADD COLUMN (.*)$`)
	firstRows  = regexp.MustCompile(`(?is)^INSERT INTO (\w+) `)
)

// onlyAdds reports whether each statement of a migration adds something and changes
// nothing: tables, their first rows, indexes, views, and columns that an INSERT may omit.
func onlyAdds(sql string) bool {
	for statement := range strings.SplitSeq(comment.ReplaceAllString(sql, ""), ";") {
		statement = strings.TrimSpace(statement)
		rows, columns := firstRows.FindStringSubmatch(statement), newColumns.FindStringSubmatch(statement)
		switch {
		case statement == "", adds.MatchString(statement):
		case rows != nil && strings.Contains(sql, "CREATE TABLE "+rows[1]+" "):
		case columns != nil && !strings.Contains(strings.ReplaceAll(columns[1], "NOT NULL DEFAULT", ""), "NOT NULL") &&
			!regexp.MustCompile(`(?i), *(DROP|ALTER|ADD (CONSTRAINT|CHECK|UNIQUE|PRIMARY|FOREIGN))|UNIQUE|CHECK|REFERENCES`).MatchString(columns[1]):
		default:
			return false
		}
	}
	return true
}

// A migration after the baselines only adds, or raises the floor, or says why servers of
// the release before work with it.
func TestMigrationsServeTheReleaseBefore(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(schema.FS, "*.up.sql")
	require.NoError(t, err)
	for _, name := range files {
		number, err := strconv.Atoi(name[:6])
		require.NoError(t, err)
		text, err := fs.ReadFile(schema.FS, name)
		require.NoError(t, err)
		if sql := string(text); number > lastBaseline && !onlyAdds(sql) {
			require.True(t,
				strings.Contains(sql, fmt.Sprintf("UPDATE schema_floor SET version = %d;", number)) ||
					strings.Contains(sql, "-- The release before survives this:"),
				"%s does more than add: it raises schema_floor, or says -- The release before survives this: and why", name)
		}
	}
}

func TestOnlyAdds(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]bool{
		"SET LOCAL lock_timeout = '2s'; ALTER TABLE a ADD COLUMN b bigint NOT NULL DEFAULT 0, ADD COLUMN c text; CREATE INDEX x ON a (b); -- y": true,
		"CREATE TABLE a (b text NOT NULL); INSERT INTO a (b) VALUES ('c');":                                                                     true,
		"INSERT INTO a (b) VALUES ('c');":                           false,
		"ALTER TABLE a ADD COLUMN b bigint NOT NULL;":               false,
		"ALTER TABLE a ADD COLUMN b bigint, DROP c;":                false,
		"ALTER TABLE a ADD COLUMN b numeric(10,2) NOT NULL;":        false,
		"ALTER TABLE a ADD COLUMN b text UNIQUE;":                   false,
		"ALTER TABLE a ADD b bigint NOT NULL;":                      false,
		"ALTER TABLE a RENAME b TO c;":                              false,
		"ALTER TABLE a ALTER b TYPE text;":                          false,
		"ALTER TABLE a ADD CONSTRAINT a_check CHECK (b > 0);":       false,
		"ALTER TABLE a DROP b;":                                     false,
		"DROP VIEW v;":                                              false,
		"DROP INDEX x;":                                             false,
		"CREATE UNIQUE INDEX x ON a (b);":                           false,
		"CREATE TRIGGER x BEFORE INSERT ON a EXECUTE FUNCTION f ()": false,
		"CREATE OR REPLACE VIEW v AS SELECT 1;":                     false,
		"UPDATE a SET b = 1;":                                       false,
	} {
		require.Equal(t, want, onlyAdds(sql), sql)
	}
}
