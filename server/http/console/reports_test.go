package console_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"rail/server/harness/browsertest"
	"rail/server/harness/wait"
)

// TestReports shows the figures of the API and of a row, and refusals of the filters.
func TestReports(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Flow(s.program)
	ada := s.Partner(s.program, M{"email": "ada@studio.example", "first_name": "Ada", "last_name": "Lovelace", "handle": "ada"})
	s.Click(s.program, "ada")
	s.Sale(s.program, s.Customer(s.program, ada), M{"amount_minor": 123456})
	page := s.owner.page("/reports")
	require.Contains(t, page, "Ada Lovelace")
	require.Contains(t, page, "1,234.56 USD")
	require.Contains(t, page, "dimension=link")
	require.Contains(t, page, "Revenue before")
	require.Less(t, len(page), 40_000)
	page = s.owner.page("/reports?dimension=link&compare=none&partner_id=" + ada)
	require.Contains(t, page, "Partner: Ada Lovelace")
	require.Contains(t, page, "By link")
	require.NotContains(t, page, "no change")
	require.Contains(t, s.owner.page("/reports?dimension=group&from=2020-01-01&to=2020-01-31"), "No data for this period")

	table := s.Must(200, s.owner.ask("GET", s.at+"/reports.csv?dimension=partner", nil))
	require.Contains(t, table.Header.Get("Content-Disposition"), `filename="report-partner.csv"`)
	require.Contains(t, string(table.Raw), "Partner,Partner revenue (USD),Commissions (USD),Clicks")
	require.Contains(t, string(table.Raw), "Ada Lovelace,1234.56,")
	for name, title := range map[string]string{"direct": "Direct revenue", "all": "Revenue", "partners": "Partner revenue"} {
		require.Contains(t, s.owner.page("/reports?attribution="+name), title+" (USD) over time")
	}
	require.Contains(t, s.owner.page(""), "Direct revenue")
	require.Contains(t, s.owner.page("/setup"), "once with ?ref=test.")

	for _, query := range []string{"from=tomorrow", "from=2026-02-01&to=2026-01-01", "dimension=moon"} {
		s.Must(400, s.owner.ask("GET", s.at+"/reports?"+query, nil))
	}
	wrong := s.owner.ask("GET", s.at+"/reports?from=tomorrow", nil)
	require.Contains(t, string(wrong.Raw), `aria-invalid="true"`)
	require.Contains(t, string(wrong.Raw), `value="tomorrow"`)
	for _, id := range []string{s.Partner(s.Program()), "part_nobody"} {
		s.owner.says(404, "Page not found", s.owner.ask("GET", s.at+"/reports?partner_id="+id, nil))
	}
}

// TestReportsBySource shows the way from click to paid by source, and cohorts of customers, as the API answers them.
func TestReportsBySource(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Flow(s.program)
	ada := s.Partner(s.program, M{"handle": "ada", "first_name": "Ada", "last_name": "Lovelace"})
	click := s.Click(s.program, "ada", M{
		"landing_url": "https://shop.example/?ref=ada&utm_source=News%3Cb%3E&utm_campaign=spring", "country": "DE",
	}).String("id")
	customer := s.Must(201, s.Post("/v1/customers", M{"program_id": s.program, "click_id": click})).String("id")
	s.Sale(s.program, customer, M{"amount_minor": 123456})
	page := s.owner.page("/reports?dimension=source")
	require.Contains(t, page, "From click to paid, by source")
	require.Contains(t, page, "news<b></a>")
	require.Contains(t, page, "Paid commissions")
	require.Contains(t, page, "dimension=partner&from=")
	require.Less(t, len(page), 60_000)
	page = s.owner.page("/reports?dimension=partner&source=news%3Cb%3E")
	require.Contains(t, page, "Ada Lovelace")
	require.Contains(t, page, "Source: news<b>")
	require.NotContains(t, page, "dimension=link")
	require.Contains(t, s.owner.page("/reports?dimension=partner&source=nobody"), "No data for this period")
	require.Contains(t, s.owner.page("/reports?dimension=campaign&partner_id="+ada), "spring")
	require.Contains(t, s.owner.page("/reports?dimension=country"), "Germany")
	table := s.Must(200, s.owner.ask("GET", s.at+"/reports.csv?dimension=tracked_by", nil))
	require.Contains(t, table.Header.Get("Content-Disposition"), `filename="report-tracked_by.csv"`)
	require.Contains(t, string(table.Raw), "Link,1234.56,")

	page = s.owner.page("/reports/cohorts")
	require.Contains(t, page, "Customers who paid again")
	require.Contains(t, page, "1,234.56 USD")
	require.Contains(t, page, "100 %")
	require.Less(t, len(page), 60_000)
	require.Contains(t, s.owner.page("/reports/cohorts?attribution=direct&months=24"), "No first sale in these months")
	require.Contains(t, s.owner.page("/reports/cohorts?months=moon"), "Customers who paid again")
	table = s.Must(200, s.owner.ask("GET", s.at+"/reports/cohorts.csv?months=6", nil))
	require.Contains(t, string(table.Raw), "Month of first sale,Month,Months since,Customers")
	s.Must(400, s.owner.ask("GET", s.at+"/reports?dimension=source&country=Germany", nil))
}

// TestReportInTheBrowser looks at a year in a browser, and into the best partner.
func TestReportInTheBrowser(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.press("Reports")
	d.Reads("Revenue over time")
	d.press("1 year")
	wait.Until(t, func() bool {
		ready, err := chromedp.Run(d.Context, chromedp.Evaluate[bool](`document.readyState === "complete" && location.search.includes("from=")`))
		return err == nil && ready // it leaves for another page meanwhile
	}, "the year")
	d.Reads("By partner")
	best := browsertest.Eval[string](d.Tab, `document.querySelector('tbody th a[href*="partner_id"]').textContent`)
	d.press(best)
	d.Reads("By link")
	d.Reads("Partner: ") // by its company's name, if it has one
	table := browsertest.Eval[string](d.Tab, `fetch([...document.links].find(a => a.text === "Download CSV").href).then(a => a.text())`)
	require.Contains(t, table, "Partner revenue (USD)")
	d.Accessible(d.owner.full("/reports?dimension=period&from=2026-01-01"), d.owner.full("/reports"),
		d.owner.full("/reports?dimension=source"), d.owner.full("/reports/cohorts"))
	d.Silent()
}
