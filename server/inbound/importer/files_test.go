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

// TestOwnHandles: the handles of Rail's own export are published, so they come before the values of links. Handles that a
// partner cannot get are problems.
func TestOwnHandles(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.Partner(d.program, M{"email": "eve@example.com", "handle": "eve"})
	d.Partner(d.program, M{"email": "bob@example.com", "handle": "bobby"})
	d.Partner(d.program, M{"email": "kim@example.com", "handle": "kimmy"})
	done := d.reads(M{
		"partners": "id,object,email,handle\n1,partner,ada@example.com,ada\n2,partner,joe@example.com,eve\n" +
			"3,partner,bob@example.com,bob\n4,partner,kim@example.com,kim\n",
		"links": "id,object,partner_id,value\na,link,1,promo\nb,link,4,kim\n",
	})
	require.Equal(t, "ada", d.Must(200, d.Get("/v1/partners/"+d.partners()["ada@example.com"])).Body["handle"])
	ids := d.partners()
	for value, email := range map[string]string{
		"ada": "ada@example.com", "promo": "ada@example.com", "eve": "eve@example.com", "joe": "joe@example.com",
		"bobby": "bob@example.com", "kim": "kim@example.com",
	} {
		require.Equal(t, ids[email], d.Click(d.program, value).Body["partner_id"], value)
	}
	require.Equal(t, map[string]int{"recorded": 2, "value_taken": 1, "not_changed": 1}, d.problems(done.String("id")))
}

// TestExternalIDs: partners keep the merchant's own ids. The id of another partner is left out.
func TestExternalIDs(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	eve := d.Partner(d.program, M{"email": "eve@example.com", "external_id": "crm-1"})
	done := d.reads(M{"partners": "id,email,external_id\n1,ada@example.com,crm-1\n2,bob@example.com,crm-2\n" +
		"3,kim@example.com,crm-2\n4,joe@example.com,\n"})
	ids := d.partners()
	for email, want := range map[string]any{
		"eve@example.com": "crm-1", "ada@example.com": nil, "joe@example.com": nil,
	} {
		require.Equal(t, want, d.Must(200, d.Get("/v1/partners/"+ids[email])).Body["external_id"], email)
	}
	require.Equal(t, map[string]int{"duplicate": 2}, d.problems(done.String("id")))
	for _, p := range d.Must(200, d.Get("/v1/imports/"+done.String("id")+"/problems")).Data() {
		if p["source_id"] == "1" {
			require.Equal(t, `The partner `+eve+` has the external id "crm-1". This partner gets none.`, p["detail"])
		}
	}
}

// TestFileSameID: of two lines with one id, the first is imported, and the second is a problem.
func TestFileSameID(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	done := d.reads(M{
		"partners": "id,email\n1,ann@example.com\n",
		"commissions": "id,partner_id,amount,currency,status,created_at\n" +
			"7,1,10.00,USD,due,2026-01-02\n7,1,25.00,USD,due,2026-01-03\n",
	})
	_, due, _ := d.Balance(d.program, d.partners()["ann@example.com"], "USD")
	require.EqualValues(t, 1000, due)
	require.Equal(t, map[string]int{"duplicate": 1}, d.problems(done.String("id")))
	require.Equal(t, "1", count(done, "commissions", "refused"))
}

// TestFileColumns: the answer that starts an import of files has the columns that are read, and no later one.
func TestFileColumns(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	run := d.Must(201, d.Post("/v1/imports", M{"program_id": d.program, "source": "csv", "files": M{
		"partners": "E-mail,Token,Shoe size\nann@example.com,ann,38\n",
	}}))
	require.Equal(t, map[string]any{"partners": map[string]any{"email": "E-mail", "value": "Token"}}, run.Body["columns"])
	require.NotContains(t, d.work(run.String("id")).Body, "columns")
}
