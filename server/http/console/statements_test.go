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

	owner.done(owner.send("/settings", "statement_seller.name", ""))
	require.Nil(t, s.Get("/v1/programs/" + s.program).Body["statement_seller"])
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
	require.Contains(t, table, ada+",Ada Lovelace,")
	require.Contains(t, p.page("/payouts/totals?year=2025"), "Nothing was paid in 2025")
}
