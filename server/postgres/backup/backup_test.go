package backup

import (
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"rail/server/harness/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// TestEveryTable: a backup contains each table that is not in omitted, and no table with tokens that would be valid
// again. Each omitted column has a default.
func TestEveryTable(t *testing.T) {
	t.Parallel()
	conn, err := connect(t.Context(), pgtest.DSN(t))
	require.NoError(t, err)
	defer conn.Close(t.Context()) // the test has ended
	tables, err := includedTables(t.Context(), conn)
	require.NoError(t, err)
	var names []string
	for _, table := range tables {
		names = append(names, table.Name)
		require.NotEmpty(t, table.Columns)
	}
	rows, err := conn.Query(t.Context(), `SELECT c.relname::text FROM pg_class c
		WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence = 'p' AND c.relnamespace = 'public'::regnamespace AND c.relname <> 'schema_migrations' ORDER BY 1`)
	require.NoError(t, err)
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	for name := range omitted {
		names = append(names, name)
	}
	slices.Sort(names)
	require.Equal(t, all, names)
	rows, err = conn.Query(t.Context(), `SELECT DISTINCT table_name::text FROM information_schema.columns
		WHERE table_schema = 'public' AND column_name = 'token_hash'`)
	require.NoError(t, err)
	tokens, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.NotEmpty(t, tokens)
	for _, name := range tokens {
		require.Contains(t, omitted, name, "its tokens would be valid again")
	}
	rows, err = conn.Query(t.Context(), `SELECT table_name || '.' || column_name FROM information_schema.columns
		WHERE table_schema = 'public' AND table_name NOT IN (SELECT relname FROM pg_class WHERE relispartition)
			AND is_nullable = 'NO' AND column_default IS NULL AND is_generated = 'NEVER'
			AND (udt_name = 'xid8' OR table_name = 'balances' AND column_name = ANY($1))`, reset["balances"])
	require.NoError(t, err)
	bare, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Empty(t, bare)
	for _, c := range reset["balances"] {
		var exists bool
		require.NoError(t,
			conn.QueryRow(t.Context(),
				`SELECT EXISTS (SELECT FROM information_schema.columns WHERE table_name = 'balances' AND column_name = $1)`,
				c).Scan(&exists))
		require.True(t, exists, c)
	}
}

func TestKeysAreSealed(t *testing.T) {
	t.Parallel()
	keys := [][32]byte{{1, 2, 3}, {4}}
	sealed, err := SealKeys(keys, "correct horse")
	require.NoError(t, err)
	opened, err := sealed.Open("correct horse")
	require.NoError(t, err)
	require.Equal(t, keys, opened)
	_, err = sealed.Open("correct horses")
	require.ErrorIs(t, err, ErrPassphrase)
	other, err := SealKeys(keys, "correct horse")
	require.NoError(t, err)
	require.NotEqual(t, sealed.Box, other.Box)
	for _, change := range []func(*SealedKeys){
		func(s *SealedKeys) { s.Passes = 1 << 30 }, func(s *SealedKeys) { s.MemoryKiB = 1 << 30 },
		func(s *SealedKeys) { s.Threads = 0 },
		func(s *SealedKeys) { s.Nonce = nil },
	} {
		hostile := *sealed
		change(&hostile)
		_, err := hostile.Open("correct horse")
		require.ErrorIs(t, err, ErrDamaged)
	}
	cut := *sealed
	cut.Box = cut.Box[:20]
	_, err = cut.Open("correct horse")
	require.ErrorIs(t, err, ErrPassphrase)
}
