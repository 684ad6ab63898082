package cli

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"rail/server/postgres/embedded"
)

// TestRolesOfThePage follows the operator's page: one role without more rights than the page names owns the tables, and
// another one, which can create nothing, serves.
func TestRolesOfThePage(t *testing.T) {
	t.Parallel()
	r := newRail(t)
	s, err := embedded.Start(t.Context(), embedded.Options{Dir: r.environ["RAIL_DATA_DIR"], Durable: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Stop()) })
	execute := func(statements ...string) {
		conn, err := pgx.Connect(t.Context(), s.DSN("postgres"))
		require.NoError(t, err)
		defer conn.Close(t.Context()) // the test is over if it fails
		for _, sql := range statements {
			_, err := conn.Exec(t.Context(), sql)
			require.NoError(t, err, sql)
		}
	}
	_, chapter, _ := strings.Cut(operatorPage(t, "README.md"), "\n### PostgreSQL\n")
	grants := regexp.MustCompile(`(?m)^    (ALTER DEFAULT .+;)$`).FindAllString(chapter, -1)
	require.Len(t, grants, 2)
	execute("CREATE ROLE owner LOGIN", "CREATE ROLE rail LOGIN", "GRANT CREATE ON SCHEMA public TO owner")
	execute(grants...)
	as := func(role string) {
		u, err := url.Parse(s.DSN("postgres"))
		require.NoError(t, err)
		q := u.Query()
		q.Set("user", role)
		u.User, u.RawQuery = nil, q.Encode()
		r.environ["RAIL_DATABASE_URL"] = u.String()
	}
	r.environ["RAIL_SECRET_KEY"] = strings.Repeat("07", 32)
	as("rail")
	status, _, errs := r.run("migrate", "up")
	require.Equal(t, 1, status)
	require.Contains(t, errs, "permission denied")
	as("owner")
	r.must("migrate", "up")
	as("rail")
	r.serving() // with the sample program
	r.must("job", "run", "keep-months")
	r.must("audit")
}
