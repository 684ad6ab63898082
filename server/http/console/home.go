package console

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"rail/gen/api"
	"rail/server/http/site"
	domain "rail/server/money/sale"
	"rail/server/opt"
	"rail/server/work/queue"
)

var homeRoutes = map[string]route{
	"GET /console/{$}":         {Do: start},
	"GET /console/p/{program}": {Do: home},

	"GET /console/p/{program}/latest": {Do: latestPart},
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
	Spans    []site.Link
	Measures []site.Link // the figures that the chart can show
	Tiles    []site.Tile
	Chart    site.Chart
	Top      []api.ReportRow
	Movers   []mover
	Latest   latestSales
	Waiting  []task
	Wrong    []Notice   // with the service
	Setup    *setupData // in place of the figures; nil for none
}

// task is a number of open tasks, with the page and the button that lead to them.
type task struct {
	Icon, Text, Path, Button string
}

// mover is a partner whose revenue differs from that of the period before.
type mover struct {
	Key, Name   string
	Now, Change int64
}

const (
	// leaders is the number of top partners on the page, movers that of partners with the largest changes.
	leaders, movers = 8, 6
	// latest is the number of sales on the page.
	latest = 8
)

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
		return v.show(sheet{"home", "", "Home", homeData{Waiting: v.tasks(status.Waiting), Wrong: wrong, Setup: steps}})
	}
	days, by := span(v.QueryParam("days")), measureOf(v.QueryParam("show"))
	r, err := v.homeReports(days)
	if err != nil {
		return err
	}
	sales, err := v.latestSales()
	if err != nil {
		return err
	}
	name := by.name
	if by.key == measures[0].key {
		name = partnerRevenue
	}
	return v.show(sheet{"home", "", "Home", homeData{
		Spans:    spanLinks(days, by),
		Measures: measureLinks(days, by),
		Tiles:    v.homeTiles(r.over, status.Owed),
		Chart:    v.overTime(r.over, r.direct, by, name),
		Top:      r.top.Rows,
		Movers:   moversOf(r.top),
		Latest:   sales,
		Waiting:  v.tasks(status.Waiting),
		Wrong:    wrong,
	}})
}

// homeReports holds the reports of the home page: the figures of partners over time, those of direct customers, and
// the top partners.
type homeReports struct{ over, direct, top *api.Report }

// homeReports asks for the reports of the last days concurrently: they take most of the page's time.
func (v *visit) homeReports(days int) (r homeReports, err error) {
	var g errgroup.Group
	get := func(into **api.Report, by api.ReportDimension, of api.ReportAttribution) {
		g.Go(func() error {
			return queue.Guard(func() (err error) {
				*into, err = v.report(days, by, of)
				return err
			})
		})
	}
	get(&r.over, api.ReportDimensionPeriod, api.ReportAttributionPartners)
	get(&r.direct, api.ReportDimensionPeriod, api.ReportAttributionDirect)
	get(&r.top, api.ReportDimensionPartner, api.ReportAttributionPartners)
	err = g.Wait()
	return r, err
}

// latestSales holds the data of the feed of sales.
type latestSales struct {
	Base string // the address of the program's pages
	Rows []earningSale
}

// earningSale is a sale with what its partner earns, "" for nothing.
type earningSale struct {
	saleRow
	Earned string
}

// latestSales returns the latest sales with the commissions on them.
func (v *visit) latestSales() (latestSales, error) {
	out := latestSales{Base: v.at("")}
	list, err := v.salesOf(api.ListSalesParams{Limit: new(int64(latest))}, site.Turn{})
	if err != nil {
		return out, err
	}
	rows, _ := list.Rows.([]saleRow)
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	earned, err := domain.Earned(v.Ctx(), v.unit(), ids)
	for _, r := range rows {
		row := earningSale{saleRow: r}
		if e, ok := earned[r.ID]; ok {
			row.Earned = v.Locale.Money(e.AmountMinor, e.Currency)
		}
		out.Rows = append(out.Rows, row)
	}
	return out, err
}

// latestPart answers the latest sales alone, for the script that shows new ones.
func latestPart(v *visit) error {
	data, err := v.latestSales()
	if err != nil {
		return err
	}
	return v.part("latest-sales", data)
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
func span(param string) int {
	for _, days := range spans {
		if param == strconv.Itoa(days) {
			return days
		}
	}
	return 30
}

// spanLinks are the windows that the page can show, with the figure of its chart.
func spanLinks(days int, by measure) (out []site.Link) {
	for _, d := range spans {
		out = append(out, site.Link{Path: homeAddress(d, by), Name: spanName(d), Current: d == days})
	}
	return out
}

// spanName is the name of a window of days.
func spanName(days int) string {
	if days == 365 {
		return "1 year"
	}
	return strconv.Itoa(days) + " days"
}

func measureLinks(days int, by measure) (out []site.Link) {
	for _, m := range measures {
		out = append(out, site.Link{Path: homeAddress(days, m), Name: m.name, Current: m.key == by.key})
	}
	return out
}

func homeAddress(days int, by measure) string {
	query := url.Values{"days": {strconv.Itoa(days)}}
	if by.key != measures[0].key {
		query.Set("show", by.key)
	}
	return "?" + query.Encode()
}

// report asks for the last days: by date or by partner, the partners' figures with the period before; of direct
// figures, this period alone.
func (v *visit) report(days int, by api.ReportDimension, of api.ReportAttribution) (*api.Report, error) {
	params := api.RetrieveReportParams{Dimension: &by, Currency: &v.program.Currency, Attribution: &of}
	params.From, params.To = v.lastDays(days)
	if by != api.ReportDimensionPeriod {
		params.Top, params.Changes = new(api.ReportTop(leaders)), new(api.ReportChanges(movers))
	}
	if of == api.ReportAttributionDirect {
		params.Compare = new(api.ReportCompareNone)
	}
	return v.reportOf(params)
}

// lastDays returns the first and the last of the last days, today included.
func (v *visit) lastDays(days int) (from, to *string) {
	today := v.Today()
	return new(today.AddDate(0, 0, 1-days).Format(time.DateOnly)), new(today.Format(time.DateOnly))
}

// moversOf returns the partners of a report with the largest changes of revenue, the largest first.
func moversOf(r *api.Report) (out []mover) {
	for _, c := range r.Changes {
		out = append(out, mover{
			Key: opt.Value(c.Key), Name: c.Label, Now: c.RevenueMinor, Change: c.RevenueMinor - c.PreviousRevenueMinor,
		})
	}
	return out
}

// tasks are the open tasks of a program.
func (v *visit) tasks(w api.ProgramWaiting) (out []task) {
	add := func(n int64, icon, one, several, path, button string) {
		if n > 0 {
			out = append(out, task{icon, v.Locale.Count(n) + " " + oneOrMany(n, one, several), v.at(path), button})
		}
	}
	add(w.Applications, "user-plus", "application to review", "applications to review", "/applications", "Review")
	add(w.RiskFlags, "shield-alert", "risk flag to review", "risk flags to review", "/risk", "Review")
	add(w.PayoutsToCheck, "circle-alert", "payout needs attention", "payouts need attention", "/payouts/attention", "Check")
	add(w.PaymentsWithoutPartner, "circle-question-mark", "payment not credited to a partner in the last 30 days",
		"payments not credited to a partner in the last 30 days", "/integrations/events?reason_code=no_partner", "View")
	add(w.FailedEvents, "circle-x", "payment event failed", "payment events failed",
		"/integrations/events?status=failed", "View")
	add(w.FailedMails, "mail-warning", "email could not be delivered", "emails could not be delivered", "/mails/failed",
		"View")
	add(w.DisabledEndpoints, "webhook", "disabled webhook endpoint", "disabled webhook endpoints", "/webhooks", "Fix")
	return out
}
