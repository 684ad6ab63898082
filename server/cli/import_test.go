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
	listed := e.Must(200, e.Get("/v1/imports?status=done&program_id="+program)).Data()
	require.Contains(t, r.must("imports", "undo", listed[0]["id"].(string)), "undone")
	require.Empty(t, moneyOf(t, e.Server, program))
	apitest.Balanced(t, e.Server)
}
