package pgtx_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"rail/server/harness/pgtest"
	"rail/server/postgres/pgtx"
)

// TestJoinedInserts joins INSERTs of every kind of value and null: they become one statement if
// each parameter has an array type, and stay separate otherwise. The rows are the same.
func TestJoinedInserts(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), `CREATE TABLE wide (name text, n bigint, at timestamptz, raw bytea, doc json, ok boolean, also text);
		CREATE TABLE listed (name text, names text[]);
		CREATE TABLE counted (of text);
		CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
			$$BEGIN INSERT INTO counted VALUES (TG_TABLE_NAME); RETURN NULL; END$$;
		CREATE TRIGGER note AFTER INSERT ON wide FOR EACH STATEMENT EXECUTE FUNCTION note();
		CREATE TRIGGER note AFTER INSERT ON listed FOR EACH STATEMENT EXECUTE FUNCTION note()`)
	require.NoError(t, err)
	at := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	word := "a"
	var parts []*pgtx.Tx
	for i, null := range []bool{false, true, false} {
		also := &word
		if null {
			also = nil
		}
		tx := pgtx.Begin(pool)
		_, err := tx.Later().Exec(t.Context(), "INSERT INTO wide VALUES ($1, $2, $3, $4, $5, $2 > 1::bigint, upper($6))",
			word, int64(i), at, []byte{0, byte(i)}, json.RawMessage(`{"b":1, "a":1e2}`), also)
		require.NoError(t, err)
		_, err = tx.Later().Exec(t.Context(), "INSERT INTO listed VALUES ($1, $2)", word, []string{"x", "y"})
		require.NoError(t, err)
		parts = append(parts, tx)
	}
	tx := pgtx.Begin(pool)
	tx.Join(parts...)
	require.NoError(t, tx.Commit(t.Context()))
	require.Equal(t, 3, count(t, pool, `SELECT count(*) FROM wide WHERE name = 'a' AND at = '2026-09-01T12:00:00Z'
		AND raw = decode('000' || n, 'hex') AND doc::text = '{"b":1, "a":1e2}' AND ok = (n > 1)
		AND also IS NOT DISTINCT FROM CASE WHEN n <> 1 THEN 'A' END`))
	require.Equal(t, 3, count(t, pool, "SELECT count(*) FROM listed WHERE name = 'a' AND names = '{x,y}'"))
	require.Equal(t, 1, count(t, pool, "SELECT count(*) FROM counted WHERE of = 'wide'"))
	require.Equal(t, 3, count(t, pool, "SELECT count(*) FROM counted WHERE of = 'listed'"))
}

// count returns the number that a query counts.
func count(t *testing.T, pool *pgxpool.Pool, sql string) (n int) {
	t.Helper()
	require.NoError(t, pool.QueryRow(t.Context(), sql).Scan(&n))
	return n
}
