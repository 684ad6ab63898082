package handlers_test

import (
	"encoding/csv"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// table requests a table and returns its rows by column name.
func table(t *testing.T, s *apitest.Server, path string, headers ...string) []map[string]string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+s.Key)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.Equal(t, "text/csv; charset=utf-8", res.Header.Get("Content-Type"))
	in := csv.NewReader(res.Body)
	names, err := in.Read()
	require.NoError(t, err)
	var rows []map[string]string
	for cells, err := in.Read(); err != io.EOF; cells, err = in.Read() {
		require.NoError(t, err)
		row := map[string]string{}
		for i, name := range names {
			row[name] = cells[i]
		}
		rows = append(rows, row)
	}
	return rows
}

// TestTables: a list as a table contains all objects that its filters match, with the same values
// as in JSON. A report as a table contains its rows.
func TestTables(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	s.Flow(program)
	partner := s.Partner(program, M{"handle": "ada", "first_name": "=HYPERLINK(1)"})
	clicks := make([]M, 130)
	for i := range clicks {
		clicks[i] = M{
			"value": "ada", "visitor_token": fmt.Sprint("visitor", i), "landing_url": "https://shop.example/?ref=ada",
		}
	}
	s.Must(200, s.Post("/v1/clicks/batch", M{"program_id": program, "items": clicks}))
	rows := table(t, s, "/v1/clicks?format=csv&program_id="+program)
	require.Len(t, rows, 130)
	page := s.Get("/v1/clicks?limit=100&program_id=" + program).Data()
	for i, c := range page {
		require.Equal(t, c["id"], rows[i]["id"])
	}
	require.Len(t, table(t, s, "/v1/clicks?limit=20&program_id="+program, "Accept", "text/csv"), 20)
	require.Equal(t, "'=HYPERLINK(1)", table(t, s, "/v1/partners?format=csv&program_id="+program)[0]["first_name"])

	click := s.Click(program, "ada").String("id")
	customer := s.Must(201, s.Post("/v1/customers", M{"program_id": program, "click_id": click})).String("id")
	s.Must(201, s.Post("/v1/sales", M{
		"program_id": program, "customer_id": customer, "external_charge_id": "ch_1", "amount_minor": 5000, "currency": "USD",
	}))
	sale := table(t, s, "/v1/sales?format=csv&expand[]=partner&program_id="+program)[0]
	require.Equal(t, []string{"5000", "USD", "", partner}, []string{
		sale["amount_minor"], sale["currency"], sale["refunded_at"], sale["partner_id"],
	})
	require.Contains(t, sale["partner"], `"handle":"ada"`)
	report := table(t, s, "/v1/reports?format=csv&dimension=partner&program_id="+program)
	require.Equal(t, []string{partner, "131", "5000"}, []string{
		report[0]["key"], report[0]["clicks"], report[0]["revenue_minor"],
	})

	require.Len(t, table(t, s, "/v1/webhook_events?format=csv"), 48)
	testSkips(t, s, program, partner)
	s.Must(400, s.Get("/v1/sales?format=xml&program_id="+program))
	require.Equal(t, "format", s.Get("/v1/sales?format=xml&program_id=" + program).Body["error"].(M)["param"])
	require.Len(t, s.Must(200, s.Do("GET", "/v1/sales?format=json&program_id="+program, s.Key, nil, "Accept", "text/csv")).Data(), 1)
}

// testSkips: a table that begins behind an offset or a cursor has all rows that follow.
func testSkips(t *testing.T, s *apitest.Server, program, partner string) {
	t.Helper()
	_, err := s.Pool.Exec(t.Context(), `INSERT INTO risk_flags (id, org_id, program_id, partner_id, kind, severity, status, evidence,
		created_at) SELECT 'flag_' || lpad(g::text, 3, '0'), $1, $2, $3, 'test_' || g, 'low', 'open', '{}', now()
		FROM generate_series(1, 250) g`, s.Org, program, partner)
	require.NoError(t, err)
	all := table(t, s, "/v1/risk_flags?format=csv&program_id="+program)
	require.Len(t, all, 250)
	require.Equal(t, all[7:], table(t, s, "/v1/risk_flags?format=csv&offset=7&program_id="+program))
	require.Equal(t, all[7:], table(t, s, "/v1/risk_flags?format=csv&starting_after="+all[6]["id"]+"&program_id="+program))
}
