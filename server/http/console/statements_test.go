package console_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/team"
)

// TestStatementPages: a paid payout links to its statement, as a page, a PDF and a signed file, with the company of the
// settings.
func TestStatementPages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Flow(s.program)
	ada, _ := s.earns("Ada Lovelace", "paypal", 10000, 5000)
	owner := s.person(s.Org, team.Owner)
	set := []string{
		"boxes", "self_billing", "self_billing", "on", "statement_prefix", "ACME", "statement_seller.name", "Acme GmbH",
		"statement_seller.address", "Hauptstr. 1, Berlin", "statement_seller.tax_ids", "DE123456789, 12/345/67890",
	}
	require.Equal(t, "The settings are saved.", owner.done(owner.send("/settings", set...)))
	settings := owner.page("/settings")
	for _, text := range []string{`value="ACME"`, `value="Acme GmbH"`, `value="DE123456789, 12/345/67890"`} {
		require.Contains(t, settings, text)
	}
	owner.says(400, "must be 1 to 12 letters", owner.send("/settings", "statement_prefix", "A_B"))
	p := s.person(s.Org, team.Finance)
	p.send("/payouts/run", "period_end", "2026-09-01")
	id := s.payoutOf(ada).String("id")
	require.NotContains(t, p.page("/payouts/"+id), "/statements/")
	p.says(409, "only a paid payout has a statement", p.ask("GET", p.full("/payouts/statements/"+id), nil))
	s.Must(200, s.Post("/v1/payouts/"+id+"/mark_paid", M{"external_id": "T-1"}))
	require.Contains(t, p.page("/payouts/"+id), "ACME-2026-000001")
	page := p.page("/payouts/statements/" + id)
	for _, text := range []string{
		"Self-billing", "ACME-2026-000001", "Acme GmbH", "Hauptstr. 1, Berlin", "12/345/67890", "Ada Lovelace", "PayPal", "T-1",
		"30.00 USD", "20.00 USD", "10.00 USD",
	} {
		require.Contains(t, page, text)
	}
	pdf := p.ask("GET", p.full("/payouts/statements/"+id+"/pdf"), nil)
	require.True(t, strings.HasPrefix(string(pdf.Raw), "%PDF-"))
	require.Contains(t, string(p.ask("GET", p.full("/payouts/statements/"+id+"/json"), nil).Raw), `"signature":`)

	// Without its name, the company would lose its address and tax ids.
	for _, lost := range [][]string{{"address", "Hauptstr. 1, Berlin"}, {"tax_ids", "DE123456789"}} {
		owner.says(400, "Enter the company’s name, or empty its address and tax IDs too.",
			owner.send("/settings", "statement_seller.name", "", "statement_seller."+lost[0], lost[1]))
	}
	require.NotNil(t, s.Get("/v1/programs/" + s.program).Body["statement_seller"])
	owner.done(owner.send("/settings", "statement_seller.name", "", "statement_seller.address", ""))
	require.Nil(t, s.Get("/v1/programs/" + s.program).Body["statement_seller"])
}

// TestUndoneStatementPage: the page of an undone statement shows that, and names the correcting statement.
func TestUndoneStatementPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Flow(s.program)
	ada, _ := s.earns("Ada Lovelace", "paypal", 10000)
	s.Must(200, s.Post("/v1/programs/"+s.program, M{"statement_prefix": "ACME"}))
	p := s.person(s.Org, team.Finance)
	p.send("/payouts/run", "period_end", "2026-09-01")
	id := s.payoutOf(ada).String("id")
	path := "/payouts/statements/" + id
	s.Must(200, s.Post("/v1/payouts/"+id+"/mark_paid", nil))
	require.Contains(t, p.page(path), `href="/verify"`)
	require.NotContains(t, p.page(path), "was undone")
	pdf := func(query string) int {
		a := p.ask("GET", p.full(path+"/pdf"+query), nil)
		require.True(t, strings.HasPrefix(string(a.Raw), "%PDF-"))
		return len(a.Raw)
	}
	valid := pdf("")
	s.Must(200, s.Post("/v1/payouts/"+id+"/undo_paid", M{"reason": "The wrong one."}))
	old := path + "?number=ACME-2026-000001"
	require.Contains(t, p.page(old), "This payment was undone. This statement is no longer valid.")
	s.Must(200, s.Post("/v1/payouts/"+id+"/mark_paid", nil))
	page := p.page(old)
	require.Contains(t, page, "This payment was undone. Statement ACME-2026-000002 corrects this one.")
	require.Contains(t, page, "/pdf?number=ACME-2026-000001")
	require.NotContains(t, p.page(path), "was undone")
	require.Contains(t, p.page(path), old, "a link to the earlier one")
	require.NotEqual(t, valid, pdf("?number=ACME-2026-000001"))
	require.Contains(t, string(p.ask("GET", p.full(path+"/json?number=ACME-2026-000001"), nil).Raw), `"corrected_by":"ACME-2026-000002"`)
}

// TestYearlyTotals: the paid payouts of a year are summed by partner, method and currency.
func TestYearlyTotals(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Flow(s.program)
	ada, _ := s.earns("Ada Lovelace", "paypal", 10000)
	s.earns("Grace Hopper", "wise", 20000)
	p := s.person(s.Org, team.Viewer)
	require.Contains(t, p.page("/payouts/totals"), "Nothing was paid in 2026")
	s.Must(201, s.Post("/v1/payout_batches", M{"program_id": s.program, "period_end": "2026-09-01"}))
	for _, payout := range s.Get("/v1/payouts?program_id=" + s.program).Data() {
		s.Must(200, s.Post("/v1/payouts/"+payout["id"].(string)+"/mark_paid", nil))
	}
	page := p.page("/payouts/totals")
	for _, text := range []string{"Ada Lovelace", "Grace Hopper", "20.00 USD", "40.00 USD", "60.00 USD", "2 payouts in USD"} {
		require.Contains(t, page, text)
	}
	table := string(p.ask("GET", p.full("/payouts/totals.csv?year=2026"), nil).Raw)
	require.Len(t, strings.Split(strings.TrimSpace(table), "\r\n"), 3)
	require.Contains(t, table, "Partner,Email,Country,Method,Paid,Currency,Payouts,Year,Partner ID\r\n")
	require.Regexp(t, `Ada Lovelace,[^,]+,[^,]*,PayPal,20\.00,USD,1,2026,`+ada+"\r\n", table)
	require.Contains(t, p.page("/payouts/totals?year=2025"), "Nothing was paid in 2025")
}
