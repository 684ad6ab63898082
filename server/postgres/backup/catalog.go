package backup

import (
	"context"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"rail/schema"
)

// settings make COPY use the same text format on every server, and remove the time limits of
// requests.
const settings = `SET client_encoding = 'UTF8'; SET timezone = 'UTC'; SET datestyle = 'ISO, YMD'; SET intervalstyle = 'postgres';
	SET bytea_output = 'hex'; SET extra_float_digits = 1; SET standard_conforming_strings = on;
	SET statement_timeout = 0; SET lock_timeout = '1min'; SET idle_in_transaction_session_timeout = 0`

// connect opens a connection with the settings of a backup.
func connect(ctx context.Context, dsn string) (*pgx.Conn, error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	if _, err := conn.Exec(ctx, settings); err != nil {
		_ = conn.Close(ctx)
		return nil, err
	}
	return conn, nil
}

// created finds the tables that a migration creates.
var created = regexp.MustCompile(`(?m)^CREATE (?:UNLOGGED )?TABLE (\w+)`)

// ours holds the names of all tables that migrations have ever created. The database may have
// tables of other programs.
var ours = sync.OnceValues(func() ([]string, error) {
	var out []string
	files, err := fs.Glob(schema.FS, "*.up.sql")
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		text, err := fs.ReadFile(schema.FS, name)
		if err != nil {
			return nil, err
		}
		for _, m := range created.FindAllSubmatch(text, -1) {
			out = append(out, string(m[1]))
		}
	}
	return out, nil
})

// includedTables returns the tables whose rows a backup contains, by name, with the columns. It omits
// columns of type xid8, which number transactions of this cluster, and temporary and unlogged
// tables (relpersistence), which a crash empties as well. Rows of partitions belong to their parent
// table.
func includedTables(ctx context.Context, conn *pgx.Conn) ([]Table, error) {
	expected, err := ours()
	if err != nil {
		return nil, err
	}
	rows, err := conn.Query(ctx, `SELECT c.relname::text, array_agg(a.attname::text ORDER BY a.attnum)
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
		WHERE c.relnamespace = quote_ident(current_schema())::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence = 'p'
			AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND a.atttypid <> 'xid8'::regtype
		GROUP BY c.relname ORDER BY c.relname`)
	if err != nil {
		return nil, err
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (t Table, err error) {
		return t, row.Scan(&t.Name, &t.Columns)
	})
	all = slices.DeleteFunc(all, func(t Table) bool { return omitted[t.Name] != "" || !slices.Contains(expected, t.Name) })
	for i := range all {
		all[i].Columns = slices.DeleteFunc(all[i].Columns,
			func(c string) bool { return slices.Contains(reset[all[i].Name], c) })
	}
	return all, err
}

// quote quotes a name for SQL.
func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

// columns returns the list of t's columns for a statement.
func (t Table) columns() string {
	quoted := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		quoted[i] = quote(c)
	}
	return strings.Join(quoted, ", ")
}

// parts holds the statements that drop parts of the tables, and the statements that recreate them.
type parts struct{ off, back []string }

// heavy returns the foreign keys and indexes of the tables. Without them, rows load faster and in
// any order. Indexes are recreated before foreign keys (turn), which use them. Those of a
// partitioned table are recreated together with those of its partitions, which PostgreSQL's own
// definition omits.
func heavy(ctx context.Context, conn *pgx.Conn) (parts, error) {
	rows, err := conn.Query(ctx, `SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', f.conrelid::regclass, f.conname),
			format('ALTER TABLE %s ADD CONSTRAINT %I %s', f.conrelid::regclass, f.conname, pg_get_constraintdef(f.oid)), 2 AS turn
		FROM pg_constraint f WHERE f.contype = 'f' AND f.conparentid = 0 AND f.connamespace = quote_ident(current_schema())::regnamespace
		UNION ALL
		SELECT format('DROP INDEX %s', i.indexrelid::regclass), replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON '), 1
		FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
		WHERE c.relnamespace = quote_ident(current_schema())::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
			AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.contype <> 'f')
		ORDER BY turn, 1`)
	if err != nil {
		return parts{}, err
	}
	var p parts
	var off, back string
	var turn int
	_, err = pgx.ForEachRow(rows, []any{&off, &back, &turn}, func() error {
		p.off, p.back = append(p.off, off), append(p.back, back)
		return nil
	})
	slices.Reverse(p.off) // a foreign key needs its index
	return p, err
}
