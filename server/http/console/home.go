package console

import (
	"net/http"
	"strconv"
	"time"

	"rail/gen/api"
	"rail/server/http/site"
	"rail/server/opt"
)

var homeRoutes = map[string]route{
	"GET /console/{$}":         {Do: start},
	"GET /console/p/{program}": {Do: home},
}

// start redirects to the organization's first program, or to the page that creates one.
func start(v *visit) error {
	programs, err := v.programs()
	switch {
	case err != nil:
		return err
	case len(programs) == 0:
		return v.Redirect(http.StatusSeeOther, "/console/new")
	}
	// The list begins with the newest; people begin with the oldest.
	return v.Redirect(http.StatusSeeOther, "/console/p/"+programs[len(programs)-1].ID)
}

// spans are the windows that the home page can show, in days.
var spans = []int{7, 30, 90, 365}

// homeData holds the data of the home page.
type homeData struct {
	Days  int
	Spans []int
	Tiles []site.Tile
	Chart site.Chart
	Top   []api.ReportRow
	Now   api.ProgramStatusReport
	Wrong []Notice   // with the service
	Setup *setupData // in place of the figures; nil for none
}

// leaders is the number of top partners on the page.
const leaders = 10

// home shows the program's figures and open tasks.
func home(v *visit) error {
	status, err := v.status()
	if err != nil {
		return err
	}
	wrong, err := v.notices()
	if err != nil {
		return err
	}
	if steps := v.setupAtHome(status.Setup); steps != nil {
		return v.show(sheet{"home", "", "Home", homeData{Now: *status, Wrong: wrong, Setup: steps}})
	}
	days := span(v.QueryParam("days"))
	over, err := v.report(days, api.ReportDimensionPeriod, api.ReportAttributionPartners)
	if err != nil {
		return err
	}
	direct, err := v.report(days, api.ReportDimensionPeriod, api.ReportAttributionDirect)
	if err != nil {
		return err
	}
	top, err := v.report(days, api.ReportDimensionPartner, api.ReportAttributionPartners)
	if err != nil {
		return err
	}
	return v.show(sheet{"home", "", "Home", homeData{
		Days:  days,
		Spans: spans,
		Tiles: v.tiles(over, partnerRevenue),
		Chart: v.daily(over, direct, partnerRevenue),
		Top:   top.Rows,
		Now:   *status,
		Wrong: wrong,
	}})
}

// notices returns the problems of the service.
func (v *visit) notices() ([]Notice, error) {
	if v.console.Notices == nil {
		return nil, nil
	}
	return v.console.Notices(v.Ctx(), Reader{
		OrgID: v.session.User.OrgID, ProgramID: v.program.ID, Owner: v.session.User.Role.ManagesPeople(),
	})
}

// span returns the requested window, or 30 days.
func span(asked string) int {
	for _, days := range spans {
		if asked == strconv.Itoa(days) {
			return days
		}
	}
	return 30
}

// report asks for the last days: by date, the partners' figures with the period before, or for the first rows of
// another dimension.
func (v *visit) report(days int, by api.ReportDimension, of api.ReportAttribution) (*api.Report, error) {
	to := v.Today()
	params := &api.RetrieveReportParams{
		ProgramID: v.program.ID, Dimension: &by, From: new(to.AddDate(0, 0, 1-days).Format(time.DateOnly)),
		To: new(to.Format(time.DateOnly)), Currency: &v.program.Currency, Attribution: &of,
	}
	if by != api.ReportDimensionPeriod {
		params.Top = new(api.ReportTop(leaders))
	}
	if by != api.ReportDimensionPeriod || of == api.ReportAttributionDirect {
		params.Compare = new(api.ReportCompareNone)
	}
	reply, err := v.console.api.RetrieveReportWithResponse(v.Ctx(), params)
	if err != nil {
		return nil, err
	}
	return reply.JSON200, nil
}

// partnerRevenue names the revenue of partners’ customers.
const partnerRevenue = "Partner revenue"

// tiles are the totals of a report beside those of the period before. revenue names its revenue.
func (v *visit) tiles(r *api.Report, revenue string) []site.Tile {
	amount := func(minor int64) string { return v.Locale.Money(minor, r.Currency) }
	before := api.ReportTotals{}
	if r.PreviousPeriod != nil {
		before = r.PreviousPeriod.Totals
	}
	return []site.Tile{
		site.NewTile("Clicks", opt.Value(r.Totals.Clicks), opt.Value(before.Clicks), v.Locale.Count),
		site.NewTile("Customers", r.Totals.Customers, before.Customers, v.Locale.Count),
		site.NewTile(revenue, r.Totals.RevenueMinor, before.RevenueMinor, amount),
		site.NewTile("Commissions", r.Totals.CommissionsMinor, before.CommissionsMinor, amount),
	}
}

// daily is the chart of a report by date: its revenue, with the other figures in the table. direct is the same report
// of figures without a partner; nil leaves the column out.
func (v *visit) daily(r, direct *api.Report, revenue string) site.Chart {
	amount := func(minor int64) string { return v.Locale.Money(minor, r.Currency) }
	f := site.Figures{Caption: revenue + " over time", Head: "Date", Columns: []site.Column{
		{Name: revenue, Text: amount, Drawn: true},
		{Name: "Commissions", Text: amount},
		{Name: "Clicks", Text: v.Locale.Count},
		{Name: "Customers", Text: v.Locale.Count},
	}}
	if direct != nil {
		f.Columns = append(f.Columns, site.Column{Name: "Direct revenue", Text: amount})
	}
	for i, row := range r.Rows {
		values := []int64{row.RevenueMinor, row.CommissionsMinor, opt.Value(row.Clicks), row.Customers}
		if direct != nil {
			values = append(values, direct.Rows[i].RevenueMinor)
		}
		f.Rows = append(f.Rows, site.Row{Name: row.Label, Short: short(opt.Value(row.Key)), Values: values})
	}
	return site.BarChart(f)
}

// short is the day of a date, or the month of a month's first day.
func short(key string) string {
	if len(key) < len("2006-01-02") {
		return key
	}
	return key[len("2006-"):]
}
