package middleware

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"

	"rail/server/clock"
)

func TestCell(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`null`: "", ``: "", `"Ada"`: "Ada", `-5`: "-5", `true`: "true", `["a", 1]`: `["a", 1]`, `{"a": null}`: `{"a": null}`,
		`"=1+1"`: "'=1+1", `"+1"`: "'+1", `"-1"`: "'-1", `"@SUM(A1)"`: "'@SUM(A1)", `"\tx"`: "'\tx", `"\r=1"`: "'\r=1",
		`"1=1"`: "1=1", `""`: "",
	} {
		require.Equal(t, want, Cell(json.RawMessage(value)), value)
	}
}

// list is an operation with n rows, whose ids count from 1.
func list(n int, more string) echo.HandlerFunc {
	return func(c echo.Context) error {
		after, _ := strconv.Atoi(cmp.Or(c.QueryParam("starting_after"), c.QueryParam("offset")))
		limit, _ := strconv.Atoi(c.QueryParam("limit"))
		to := min(after+limit, n)
		var rows []string
		for i := after + 1; i <= to; i++ {
			rows = append(rows, fmt.Sprintf(`{"id":"%d","name":"a,\"b\"%s"}`, i, more))
		}
		body := fmt.Sprintf(`{"data":[%s],"has_more":%t,"total_count":%d}`, strings.Join(rows, ","), to < n, n)
		return c.JSONBlob(http.StatusOK, []byte(body))
	}
}

// tableOf requests a table of a list, and returns its rows and the query of its next part.
func tableOf(t *testing.T, query string, next echo.HandlerFunc) (rows [][]string, requests int, link url.Values) {
	t.Helper()
	return fileOf(t, &table{rows: "data", columns: []string{"id", "name"}, pages: true}, query, next)
}

func fileOf(
	t *testing.T, of *table, query string, next echo.HandlerFunc,
) (rows [][]string, requests int, link url.Values) {
	t.Helper()
	w := httptest.NewRecorder()
	c := echo.New().NewContext(httptest.NewRequest(http.MethodGet, "/v1/things?"+query, nil), w)
	s := newSheet(of)
	err := s.walk(c, next)
	require.NoError(t, err)
	require.NoError(t, s.send(c))
	rows, err = csv.NewReader(w.Body).ReadAll()
	require.NoError(t, err)
	if to, ok := strings.CutPrefix(w.Header().Get("Link"), "</v1/things?"); ok {
		link, err = url.ParseQuery(strings.TrimSuffix(to, `>; rel="next"`))
		require.NoError(t, err)
	}
	return rows, s.requests(), link
}

func TestTableWalksAllPages(t *testing.T) {
	t.Parallel()
	rows, requests, link := tableOf(t, "format=csv", list(250, ""))
	require.Equal(t, []any{251, 3, url.Values(nil)}, []any{len(rows), requests, link})
	require.Equal(t, [][]string{{"id", "name"}, {"1", `a,"b"`}}, rows[:2])
	require.Equal(t, "250", rows[250][0])
	rows, requests, _ = tableOf(t, "limit=7", list(250, ""))
	require.Equal(t, []int{8, 1}, []int{len(rows), requests}, "a table with a limit has one page")
	rows, _, _ = tableOf(t, "", list(0, ""))
	require.Equal(t, [][]string{{"id", "name"}}, rows)
	rows, _, _ = tableOf(t, "", list(2, `","stats":{"clicks":1},"also":"x`))
	require.Equal(t, []string{"id", "name", "also", "stats"}, rows[0], "what is included comes behind")
}

func TestTableByOffset(t *testing.T) {
	t.Parallel()
	things := &table{rows: "data", columns: []string{"id", "name"}, pages: true, offset: true}
	rows, requests, link := fileOf(t, things, "offset=100", list(maxTableRows+250, ""))
	require.Equal(t, []any{maxTableRows + 1, "101", maxTableRows / tablePage}, []any{len(rows), rows[1][0], requests})
	require.Equal(t, url.Values{"format": {"csv"}, "offset": {strconv.Itoa(maxTableRows + 100)}}, link)
	rest, requests, link := fileOf(t, things, link.Encode(), list(maxTableRows+250, ""))
	require.Equal(t, []any{151, 2, url.Values(nil)}, []any{len(rest), requests, link})
}

// TestTableIsUncounted: the unit of a table's pages is uncounted, that of JSON is not.
func TestTableIsUncounted(t *testing.T) {
	t.Parallel()
	f := New(Options{Clock: clock.System{}})
	for format, want := range map[string]bool{"csv": true, "json": false} {
		c := echo.New().NewContext(httptest.NewRequest(http.MethodGet, "/v1/things?format="+format, nil), httptest.NewRecorder())
		c.Set(stateKey, &state{route: &route{table: &table{rows: "data", columns: []string{"id"}, pages: true}}})
		uncounted := !want
		err := f.tables(func(c echo.Context) error {
			uncounted = f.unit(c, stateOf(c), nil, nil).Uncounted
			return list(1, "")(c)
		})(c)
		require.NoError(t, err)
		require.Equal(t, want, uncounted, format)
	}
}

func TestTableIsBounded(t *testing.T) {
	t.Parallel()
	rows, _, link := tableOf(t, "status=due", list(maxTableRows+150, ""))
	require.Len(t, rows, maxTableRows+1)
	require.Equal(t, url.Values{"status": {"due"}, "format": {"csv"}, "starting_after": {strconv.Itoa(maxTableRows)}}, link)
	rest, _, end := tableOf(t, link.Encode(), list(maxTableRows+150, ""))
	require.Equal(t, []any{151, "10001", url.Values(nil)}, []any{len(rest), rest[1][0], end})
	rows, _, link = tableOf(t, "", list(1000, strings.Repeat("x", 100_000)))
	require.Less(t, len(rows), 400, "large rows fill a table, too")
	require.NotEmpty(t, link)
}

// TestTablesTakeTurns: the server makes at most maxTables at once, and a request that waits too
// long must retry.
func TestTablesTakeTurns(t *testing.T) {
	t.Parallel()
	f := New(Options{Clock: clock.System{}})
	ctx, end := context.WithCancel(t.Context())
	inside, release, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	fill := func(ctx context.Context) error {
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/things", http.NoBody)
		c := echo.New().NewContext(r, httptest.NewRecorder())
		c.Set(stateKey, &state{})
		return f.fill(c, newSheet(&table{rows: "data", columns: []string{"id"}}), func(c echo.Context) error {
			inside <- struct{}{}
			<-release
			return list(1, "")(c)
		})
	}
	for range maxTables {
		go func() { ended <- fill(t.Context()) }()
	}
	for range maxTables {
		<-inside
	}
	go func() { ended <- fill(ctx) }()
	end()
	require.Equal(t, http.StatusServiceUnavailable, toProblem(<-ended).Status())
	close(release)
	for range maxTables {
		require.NoError(t, <-ended)
	}
}
