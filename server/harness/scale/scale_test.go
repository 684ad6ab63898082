package scale

import (
	"bytes"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/openapi"
	"rail/server/harness/dataset"
	"rail/server/harness/pgtest"
	"rail/server/jobs"
	"rail/server/money/ledger/check"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestEverythingIsMeasured(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	require.NoError(t, dataset.Fill(t.Context(), dsn, dataset.Options{
		Size: dataset.Full.Times(0), Until: until, Org: dataset.Big, Other: dataset.Small,
	}))
	pool := pgtest.Pool(t, dsn)
	// One month of reports is enough, and takes less time to sum.
	_, err := pool.Exec(t.Context(), "UPDATE programs SET created_at = $1", until.Days(-31))
	require.NoError(t, err)
	var out bytes.Buffer
	err = Run(t.Context(), Options{SmallDSN: dsn, FullDSN: dsn, Rounds: 1, Jobs: true, All: true, Out: &out})
	if err != nil && !errors.Is(err, ErrGrows) { // equal sides differ by chance only
		require.NoError(t, err)
	}
	spec, err := openapi.Read(openapi.Bundle)
	require.NoError(t, err)
	operations, err := openapi.Operations(spec)
	require.NoError(t, err)
	for _, o := range operations {
		if o.Method == http.MethodGet && !slices.Contains(unmeasured, o.ID) {
			require.Contains(t, out.String(), o.ID+" ", o.Path)
		}
	}
	for _, j := range jobs.All(jobs.Deps{}) {
		require.Contains(t, out.String(), "job "+j.Name)
	}
	found, err := check.Run(t.Context(), pool)
	require.NoError(t, err)
	require.Empty(t, found, "after the jobs")
	var wide int
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM report_spans WHERE span = '16'").Scan(&wide))
	require.NotZero(t, wide)
	sameTotals(t, pool)
	touchDay(t, pool)
	sameTotals(t, pool)
}

func TestGrows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		figure Figure
		want   bool
	}{
		"ten times as slow": {Figure{Small: 10 * time.Millisecond, Full: 100 * time.Millisecond}, true},
		"no slower":         {Figure{Small: 10 * time.Millisecond, Full: 11 * time.Millisecond}, false},
		"little of little":  {Figure{Small: time.Millisecond, Full: 3 * time.Millisecond}, false},
		"ten times as much to do": {
			Figure{Small: 10 * time.Millisecond, Full: 100 * time.Millisecond, SmallRows: 10, Rows: 100}, false,
		},
		"the same to do, but later": {
			Figure{Small: 10 * time.Millisecond, Full: 100 * time.Millisecond, SmallRows: 10, Rows: 10}, true,
		},
	} {
		require.Equal(t, c.want, c.figure.Grows(), name)
	}
}

func TestEveryFilterIsMeasured(t *testing.T) {
	t.Parallel()
	_, err := requests([]byte(`{"paths": {"/v1/books": {"get": {"operationId": "listBooks", "security": [], "parameters": [{"name": "color", "in": "query", "schema": {"type": "string"}}]}}}}`))
	require.ErrorContains(t, err, "listBooks: nothing is known to filter by color with")
	got, err := requests([]byte("{\"paths\": {\"/v1/books/{id}\": {\"get\": {\"operationId\": \"retrieveBook\", \"security\": [], \"parameters\": [{\"name\": \"status\", \"in\": \"query\", \"schema\": {}, \"description\": \"One of `old`, `new`.\"}]}}}}"))
	require.NoError(t, err)
	require.Equal(t, []request{
		{"retrieveBook", "/v1/books/{books}?"}, {"retrieveBook status=old", "/v1/books/{books}?&status=old"},
		{"retrieveBook status=new", "/v1/books/{books}?&status=new"},
		{"retrieveBook status=old%2Cnew", "/v1/books/{books}?&status=old%2Cnew"},
	}, got[:4])
}
