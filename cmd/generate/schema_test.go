package main

import (
	"regexp"
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
	there := map[string]table{}
	_, err = pgx.ForEachRow(rows, []any{&of, &name, &definition}, func() error {
		if there[of] == nil {
			there[of] = table{}
		}
		there[of][name] = definition
		return nil
	})
	require.NoError(t, err)
	read, err := readSchema(schema.FS)
	require.NoError(t, err)
	for of, want := range there {
		for name, definition := range want {
			require.Contains(t, read[of], name)
			if m := listed.FindStringSubmatch(definition); m != nil && name == of+"_"+m[1]+"_check" {
				require.Equal(t, quotes(m[2]), read[of].values(m[1]), name)
			}
		}
		require.Len(t, read[of], len(want), of)
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
		"1.up.sql": {Data: []byte("CREATE TABLE eggs (\n    size text, -- not ; here\n    colour text,\n" +
			"    CONSTRAINT eggs_size_check CHECK (size IN ('s', 'm')),\n" +
			"    CONSTRAINT eggs_colour_check CHECK (colour IS NULL OR colour IN ('off_white', 'api'))\n);")},
		"2.up.sql": {Data: []byte("ALTER TABLE eggs DROP CONSTRAINT eggs_size_check,\n" +
			"    ADD CONSTRAINT eggs_size_check CHECK (size IN ('s', 'm', 'l'));")},
		"2.down.sql": {Data: []byte("DROP TABLE eggs;")},
	})
	require.NoError(t, err)
	require.Equal(t, []string{"s", "m", "l"}, tables["eggs"].values("size"))
	out, err := writeStates(tables, []state{{Name: "EggColour", Columns: []string{"eggs.colour"}}})
	require.NoError(t, err)
	require.Contains(t, string(out), `EggColourOffWhite EggColour = "off_white"`)
	require.Contains(t, string(out), `EggColourAPI EggColour = "api"`)
	_, err = writeStates(tables, []state{{Name: "EggShape", Columns: []string{"eggs.shape"}}})
	require.ErrorContains(t, err, "eggs.shape")
}
