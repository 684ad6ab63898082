package backup

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"rail/server/harness/pgtest"
	"rail/server/secret"
)

// as returns the DSN for a new role, which gets the privileges of the statements.
func as(t *testing.T, dsn, role string, grants ...string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	role += "_" + strings.ToLower(conn.Config().Database)
	for _, sql := range append([]string{"CREATE ROLE who LOGIN"}, grants...) {
		_, err := conn.Exec(t.Context(), strings.ReplaceAll(sql, "who", role))
		require.NoError(t, err)
	}
	require.NoError(t, conn.Close(t.Context()))
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	q := u.Query()
	q.Set("user", role)
	u.User, u.RawQuery = nil, q.Encode()
	return u.String()
}

// TestRoles: a role that may read can back up, and a role that may create tables can restore.
// Neither needs superuser rights.
func TestRoles(t *testing.T) {
	t.Parallel()
	if os.Getenv("RAIL_TEST_DATABASE_URL") != "" {
		t.Skip("roles would stay behind")
	}
	keeper, err := secret.New([32]byte{1})
	require.NoError(t, err)
	from := pgtest.DSN(t)
	conn, err := pgx.Connect(t.Context(), from)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "INSERT INTO organizations (id, name, created_at) VALUES ('org_1', 'Acme', now())")
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
	reader := as(t, from, "reader", "GRANT SELECT ON ALL TABLES IN SCHEMA public TO who")
	path := filepath.Join(t.TempDir(), "rail.backup")
	f, err := os.Create(path)
	require.NoError(t, err)
	quiet := func(string, int64) {}
	n, err := Write(t.Context(), reader, f, Manifest{}, keeper, quiet)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.EqualValues(t, 1, n)

	owner := as(t, pgtest.DSN(t), "owner", "DROP SCHEMA public CASCADE", "CREATE SCHEMA public",
		"GRANT CREATE, USAGE ON SCHEMA public TO who")
	n, err = Restore(t.Context(), owner, path, keeper, quiet)
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	_, err = Restore(t.Context(), owner, path, keeper, quiet)
	require.ErrorIs(t, err, ErrNotEmpty)
}
