package importer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// reads imports files and returns the import.
func (d *desk) reads(files M) apitest.Answer {
	d.t.Helper()
	done := d.work(d.Must(201, d.Post("/v1/imports", M{
		"program_id": d.program, "source": "csv", "dry_run": false, "files": files,
	})).String("id"))
	require.Equal(d.t, "done", done.Body["status"], "%v", done.Body)
	apitest.Balanced(d.t, d.Server)
	return done
}

// TestFileDays: a date without a time is a day of the program, also west of UTC.
func TestFileDays(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.Must(200, d.Post("/v1/programs/"+d.program, M{"time_zone": "America/New_York"}))
	d.reads(M{
		"partners": "email\nann@example.com\n",
		"commissions": "id,partner_email,amount,currency,status,date,paid_at\n" +
			"1,ann@example.com,10.00,USD,paid,2025-12-01,2026-01-01\n",
		"payouts": "id,partner_email,amount,currency,status,paid_at\np1,ann@example.com,10.00,USD,paid,2026-01-01\n",
	})
	for year, n := range map[string]int{"2025": 0, "2026": 1} {
		totals := d.Must(200, d.Get("/v1/payout_totals?program_id="+d.program+"&year="+year))
		require.Len(t, totals.Data(), n, year)
	}
}
