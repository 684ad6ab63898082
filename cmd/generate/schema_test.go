package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"rail/schema"
	"rail/server/harness/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// TestSchemaIsReadAsItIs compares the constraints read from the migrations with those of a
// migrated database.
func TestSchemaIsReadAsItIs(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	rows, err := pool.Query(t.Context(), `
		SELECT c.relname, k.conname, pg_get_constraintdef(k.oid) FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
		WHERE c.relnamespace = 'public'::regnamespace AND NOT c.relispartition AND c.relname <> 'schema_migrations' AND k.contype <> 'n'
		UNION ALL
		SELECT c.relname, i.relname, '' FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
			JOIN pg_class c ON c.oid = x.indrelid
		WHERE x.indisunique AND NOT c.relispartition AND c.relnamespace = 'public'::regnamespace AND c.relname <> 'schema_migrations'
			AND NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid = x.indexrelid AND k.contype IN ('p', 'u'))`)
	require.NoError(t, err)
	var of, name, definition string
	tables := map[string]map[string]string{}
	_, err = pgx.ForEachRow(rows, []any{&of, &name, &definition}, func() error {
		if tables[of] == nil {
			tables[of] = map[string]string{}
		}
		tables[of][name] = definition
		return nil
	})
	require.NoError(t, err)
	read, err := readSchema(schema.FS)
	require.NoError(t, err)
	for of, want := range tables {
		for name, definition := range want {
			require.Contains(t, read[of].rules, name)
			if m := listed.FindStringSubmatch(definition); m != nil && name == of+"_"+m[1]+"_check" {
				require.Equal(t, quotes(m[2]), read[of].values(m[1]), name)
			}
		}
		require.Len(t, read[of].rules, len(want), of)
	}
	rows, err = pool.Query(t.Context(), `
		SELECT c.relname, a.attname, a.attnotnull::text FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
		WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relnamespace = 'public'::regnamespace
			AND c.relname <> 'schema_migrations' AND a.attnum > 0 AND NOT a.attisdropped`)
	require.NoError(t, err)
	columns := map[string]int{}
	_, err = pgx.ForEachRow(rows, []any{&of, &name, &definition}, func() error {
		columns[of]++
		require.Contains(t, read[of].columns, name, of)
		require.Equal(t, definition == "true", read[of].required(name), "%s.%s", of, name)
		return nil
	})
	require.NoError(t, err)
	require.Len(t, read, len(columns))
	for of, n := range columns {
		require.Len(t, read[of].columns, n, of)
	}
}

// listed matches a list of values in PostgreSQL's form.
var listed = regexp.MustCompile(`^CHECK \(\((\w+) = ANY \(ARRAY\[([^]]*)\]\)\)\)`)

func quotes(list string) (out []string) {
	for _, m := range quoted.FindAllStringSubmatch(list, -1) {
		out = append(out, m[1])
	}
	return out
}

func TestStates(t *testing.T) {
	t.Parallel()
	tables, err := readSchema(fstest.MapFS{
		"1.up.sql": {Data: []byte("CREATE TABLE eggs (\n    size text NOT NULL, -- not ; here\n    laid_by text,\n    colour text,\n" +
			"    CONSTRAINT eggs_size_check CHECK (size IN ('s', 'm')),\n" +
			"    CONSTRAINT eggs_laid_by_check CHECK (laid_by IN ('hen', 'duck')),\n" +
			"    CONSTRAINT eggs_colour_check CHECK (colour IS NULL OR colour IN ('off_white', 'api'))\n);")},
		"2.up.sql": {Data: []byte("ALTER TABLE eggs DROP CONSTRAINT eggs_size_check, ALTER COLUMN laid_by SET NOT NULL,\n" +
			"    ADD CONSTRAINT eggs_size_check CHECK (size IN ('s', 'm', 'l')), ADD COLUMN name text, DROP COLUMN colour;\n" +
			"ALTER TABLE eggs ADD COLUMN colour text, ADD CONSTRAINT eggs_pkey PRIMARY KEY (name, size);")},
		"2.down.sql": {Data: []byte("DROP TABLE eggs;")},
	})
	require.NoError(t, err)
	require.Equal(t, []string{"s", "m", "l"}, tables["eggs"].values("size"))
	types := columnTypes(tables)
	require.Equal(t, []state{
		{"EggColour", []string{"eggs.colour"}}, {"EggSize", []string{"eggs.size"}}, {"LaidBy", []string{"eggs.laid_by"}},
	}, types)
	out, err := writeStates(tables, types)
	require.NoError(t, err)
	require.Contains(t, string(out), `EggColourOffWhite EggColour = "off_white"`)
	require.Contains(t, string(out), `EggColourAPI EggColour = "api"`)
	_, err = writeStates(tables, []state{{Name: "EggShape", Columns: []string{"eggs.shape"}}})
	require.ErrorContains(t, err, "eggs.shape")
	config := string(writeConfig([]byte("overrides:\n"), tables, types))
	require.Contains(t, config, "{column: eggs.colour, go_type: {type: EggColour, pointer: true}}")
	require.Contains(t, config, "{column: eggs.laid_by, go_type: {type: LaidBy, pointer: false}}")
	require.Contains(t, string(writeConstraints(tables)), "EggsPkey: true")
}

// TestNamedColumnsAreListed: every column that types.go names has a list of values.
func TestNamedColumnsAreListed(t *testing.T) {
	t.Parallel()
	tables, err := readSchema(schema.FS)
	require.NoError(t, err)
	for at := range named {
		of, column, _ := strings.Cut(at, ".")
		require.Contains(t, tables[of].columns, column)
	}
	for _, at := range texts {
		of, column, _ := strings.Cut(at, ".")
		require.True(t, slices.ContainsFunc(slices.Collect(maps.Keys(tables)), func(name string) bool {
			return (of == name || of == "*") && tables[name].values(column) != nil
		}), at)
	}
}
