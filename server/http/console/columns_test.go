package console_test

import (
	"encoding/csv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// heads returns the heads of the columns of a page's table.
func heads(page string) []string {
	_, rest, _ := strings.Cut(page, "<thead>")
	rest, _, _ = strings.Cut(rest, "</thead>")
	var out []string
	for _, part := range strings.Split(rest, "<th ")[1:] {
		text := part[strings.Index(part, ">")+1:]
		if _, linked, ok := strings.Cut(text, ">"); ok && strings.HasPrefix(text, "<a") {
			text = linked
		}
		text, _, _ = strings.Cut(text, "<")
		if text = strings.TrimSpace(text); text != "" {
			out = append(out, text)
		}
	}
	return out
}

// TestColumns shows the chosen columns of each list, in its CSV too, and keeps them with filters and saved filters.
func TestColumns(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Flow(s.program)
	s.earns("ada", "paypal", 10000)
	s.Must(201, s.Post("/v1/payout_batches", M{"program_id": s.program, "period_end": "2026-09-01"}))
	for _, c := range []struct{ path, usual, query, chosen, csv string }{
		{
			"/partners", "Partner State Group and tags Clicks Customers Commissions (USD)",
			"columns=clicks&columns=handle&columns=since&columns=country&columns=method",
			"Partner Handle Country Payout method Since Clicks",
			"Partner,Email,Clicks,Handle,Country,Payout method,Since,ID",
		},
		{
			"/commissions", "Earned Partner Customer Kind State Amount", "columns=amount&columns=base&columns=payable",
			"Earned Payable from Revenue Amount", "Earned,Amount,Currency,Revenue,Revenue currency,Payable from,ID",
		},
		{
			"/sales", "When Customer Partner Product Charged Refunded", "columns=charge&columns=billing&columns=processor",
			"When Billing Processor Charge ID", "When,Billing,Interval,Processor,Charge ID,ID",
		},
		{
			"/customers", "Customer Partner By State Since", "columns=email&columns=paid&columns=processor",
			"Customer Email Processor First payment",
			"Customer,Your ID,Email,First payment,Processor,ID",
		},
		{
			"/payouts/all", "Partner Method State Due Commissions Amount", "columns=month&columns=paid", "Partner Until Paid",
			"Partner,Email,Until,Paid,Reference,Statement,ID",
		},
	} {
		require.Equal(t, c.usual, strings.Join(heads(s.owner.page(c.path+"?show=all")), " "), c.path)
		page := s.owner.page(c.path + "?columns=first&" + c.query)
		require.Equal(t, c.chosen, strings.Join(heads(page), " "), c.path)
		require.Contains(t, page, `name="columns" value="`+strings.SplitN(c.query[len("columns="):], "&", 2)[0]+`" checked`)
		require.Contains(t, page, "Save these filters", c.path)
		table, err := csv.NewReader(strings.NewReader(s.owner.page(c.path + ".csv?columns=first&" + c.query))).ReadAll()
		require.NoError(t, err)
		require.Equal(t, strings.Split(c.csv, ","), table[0], c.path)
		require.Greater(t, len(table), 1, c.path)
		all, err := csv.NewReader(strings.NewReader(s.owner.page(c.path + ".csv"))).ReadAll()
		require.NoError(t, err)
		require.Greater(t, len(all[0]), len(table[0]), "the CSV without a choice has all columns")
	}
	require.Equal(t, []string{"Partner"}, heads(s.owner.page("/partners?columns=first")), "no further column is a choice")
	page := s.owner.page("/partners?columns=first&columns=state&status=active")
	require.Contains(t, page, `<input type="hidden" name="columns" value="state">`, "the filters keep the columns")
	require.Contains(t, page, `<input type="hidden" name="status" value="active">`, "the columns keep the filters")
	s.owner.done(s.owner.send("/views", "page", "/partners", "name", "Narrow", "query", "columns=first&columns=state"))
	require.Contains(t, s.owner.page("/partners?show=all"), s.at+"/partners?columns=first&columns=state")
}
