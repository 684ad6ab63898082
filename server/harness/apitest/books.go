package apitest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/money/ledger/check"
)

// Balanced fails the test unless the books balance.
func Balanced(t testing.TB, s *Server) {
	t.Helper()
	findings, err := check.Run(t.Context(), s.Pool)
	require.NoError(t, err)
	require.Empty(t, findings)
}

// Rows returns a fingerprint of all rows of an organization, by table.
func Rows(s *Server, org string) map[string]string {
	s.T.Helper()
	found, err := s.Pool.Query(s.T.Context(), `SELECT table_name::text FROM information_schema.columns
		WHERE table_schema = 'public' AND column_name = 'org_id' ORDER BY 1`)
	require.NoError(s.T, err)
	var tables []string
	for found.Next() {
		var name string
		require.NoError(s.T, found.Scan(&name))
		tables = append(tables, name)
	}
	require.NoError(s.T, found.Err())
	out := map[string]string{}
	for _, table := range tables {
		var n int
		var sum string
		require.NoError(s.T,
			s.Pool.QueryRow(s.T.Context(), `SELECT count(*), md5(coalesce(string_agg(t::text, E'\n' ORDER BY t::text), ''))
			FROM `+table+` t WHERE org_id = $1`, org).Scan(&n, &sum))
		out[table] = fmt.Sprint(n, " rows ", sum)
	}
	return out
}
