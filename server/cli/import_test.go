package cli

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// moneyOf returns the open and the paid money of a program by partner's email and currency, in minor units.
func moneyOf(t *testing.T, s *apitest.Server, program string) map[string][2]int64 {
	t.Helper()
	rows, err := s.Pool.Query(t.Context(), `SELECT lower(p.email) || ' ' || b.currency, b.pending_minor + b.due_minor, b.paid_minor
		FROM balance_sums b JOIN partners p ON p.id = b.partner_id WHERE b.program_id = $1
			AND (b.pending_minor, b.due_minor, b.paid_minor) <> (0, 0, 0)`, program)
	require.NoError(t, err)
	all := map[string][2]int64{}
	for rows.Next() {
		var key string
		var money [2]int64
		require.NoError(t, rows.Scan(&key, &money[0], &money[1]))
		all[key] = money
	}
	require.NoError(t, rows.Err())
	return all
}

// TestExportImport: an export that is imported into another program gives the same balances, and can be undone.
func TestExportImport(t *testing.T) {
	t.Parallel()
	e := tried(t)
	r := at(t, e.DSN, e.Config.SecretKey)
	ada := e.Partner(e.ProgramID, apitest.M{"email": "ada@example.com", "handle": "ada", "external_id": "crm-1"})
	e.Must(201, e.Post("/v1/links", apitest.M{
		"program_id": e.ProgramID, "partner_id": ada, "value": "promo", "destination_url": "https://acme.example/shop",
	}))
	_, err := e.Pool.Exec(t.Context(), `UPDATE customers SET external_subscription_id = 'sub_1' WHERE identifier = 'user 7'`)
	require.NoError(t, err)
	folder := filepath.Join(t.TempDir(), "export")
	r.must("export", "--program", e.ProgramID, "--out", folder)
	program := e.Program(apitest.M{"holding_period_days": 30})
	report := r.must("import", "csv", "--program", program, "--files", folder)
	require.Contains(t, report, "rail imports run imp_")
	require.Regexp(t, `(?s)^PARTNERS FIELD +COLUMN OF partners.csv\nid +id\n.*SALES FIELD.*\ncharged_minor +charged_minor\n.*KIND`,
		report)
	var shown struct {
		Data struct {
			Columns map[string]map[string]string `json:"columns"`
		} `json:"data"`
	}
	require.NoError(t, json.Unmarshal([]byte(r.must("import", "csv", "--program", program, "--files", folder, "--json")), &shown))
	require.Equal(t, "charged_minor", shown.Data.Columns["sales"]["charged_minor"])
	require.Empty(t, moneyOf(t, e.Server, program))
	done := r.must("import", "csv", "--program", program, "--files", folder, "--run")
	require.Equal(t, moneyOf(t, e.Server, e.ProgramID), moneyOf(t, e.Server, program), done)
	apitest.Balanced(t, e.Server)
	for _, id := range []string{e.ProgramID, program} {
		for _, value := range []string{"ada", "promo"} {
			e.Click(id, value)
		}
		for _, p := range e.Must(200, e.Get("/v1/partners?program_id="+id)).Data() {
			if p["email"] == "ada@example.com" {
				require.Equal(t, "ada", p["handle"])
				require.Equal(t, "crm-1", p["external_id"])
			}
		}
	}
	var identified int
	require.NoError(t, e.Pool.QueryRow(t.Context(), `SELECT count(*) FROM customers WHERE program_id = $1
		AND identifier = 'user 7' AND external_subscription_id = 'sub_1'`, program).Scan(&identified))
	require.Equal(t, 1, identified)
	listed := e.Must(200, e.Get("/v1/imports?status=done&program_id="+program)).Data()
	require.Contains(t, r.must("imports", "undo", listed[0]["id"].(string)), "undone")
	require.Empty(t, moneyOf(t, e.Server, program))
	apitest.Balanced(t, e.Server)
}
