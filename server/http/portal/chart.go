package portal

import (
	"cmp"
	"net/url"
	"slices"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/http/site"
	"rail/server/money/report"
)

// chartYears is how far back the chart of all time looks.
const chartYears = 10

// ranked is how many links and sources the chart's tables have.
const ranked = 20

// graph is the chart of the overview with its choices.
type graph struct {
	Chart                        site.Chart
	Links, Sources               site.Ranks
	Ranges, Measures, Currencies site.Tabs
	Title, About                 string
}

// choice is something that the chart can be asked for, by a parameter of the address.
type choice struct{ Value, Name string }

// The first of each is shown where the address asks for none.
var (
	ranges   = []choice{{"year", "12 months"}, {"month", "30 days"}, {"all", "All"}}
	measures = []choice{{"earnings", "Earnings"}, {"clicks", "Clicks"}, {"customers", "Customers"}}
)

// chosen is the choice that the address asks for.
func (v *visit) chosen(name string, from []choice) choice {
	value := v.QueryParam(name)
	at := slices.IndexFunc(from, func(c choice) bool { return c.Value == value })
	return from[max(at, 0)]
}

// tabs are the choices as links, each of which leaves the others as they are.
func (v *visit) tabs(label, name string, from []choice) site.Tabs {
	out := site.Tabs{Label: v.Locale.T(label)}
	now := v.chosen(name, from)
	for _, c := range from {
		out.Links = append(out.Links, site.Link{
			Path: with(v.Request().URL, name, c.Value) + "#chart", Name: v.Locale.Said(c.Name), Current: c == now,
		})
	}
	return out
}

// with is an address with a parameter set.
func with(at *url.URL, name, value string) string {
	query := at.Query()
	query.Del("done")
	query.Set(name, value)
	return at.Path + "?" + query.Encode()
}

// graph reads the figures of the time that was asked for, by month or day, and by link, and those of the month.
func (v *visit) graph(balances []balance) (g graph, m month, err error) {
	codes := []choice{{v.program.Currency, v.program.Currency}}
	for _, p := range balances {
		if p.Currency != v.program.Currency {
			codes = append(codes, choice{p.Currency, p.Currency})
		}
	}
	span, measure, code := v.chosen("range", ranges), v.chosen("show", measures), v.chosen("currency", codes)
	g.Ranges, g.Measures = v.tabs("Time", "range", ranges), v.tabs("Period and metric", "show", measures)
	if len(codes) > 1 {
		g.Currencies = v.tabs("Currency", "currency", codes)
	}
	over := v.window(span.Value, code.Value)
	byLink := over
	byLink.By = report.Link
	bySource := over
	bySource.By = report.Source
	answers, err := report.Read(v.Ctx(), v.unit(), over, byLink, v.twoMonths(code.Value), bySource)
	if err != nil {
		return g, m, err
	}
	g.Chart = site.AreaChart(v.periods(over, answers[0].Rows, measure.Value))
	g.Chart.Partial = true
	g.Sources = v.bySource(bySource, answers[3].Rows, measure.Value)
	g.Links, err = v.byLink(byLink, answers[1].Rows, measure.Value)
	return g, v.month(code.Value, answers[2].Rows), err
}

// window asks for the partner's figures. A year begins on the first of a month, so that
// every bar but the last is whole.
func (v *visit) window(span, code string) report.Query {
	today := v.Today()
	q := report.Query{
		OrgID: v.partner.OrgID, ProgramID: v.program.ID, PartnerID: &v.partner.ID, By: report.Period, Bucket: "month",
		From: clock.MonthOf(today).AddDate(0, -11, 0), To: today, Zone: v.program.TimeZone,
		Currency: code, ProgramCurrency: v.program.Currency,
	}
	switch span {
	case "month":
		q.Bucket, q.From = "day", q.To.AddDate(0, 0, -29)
	case "all":
		q.From = q.From.AddDate(1-chartYears, 0, 0)
	}
	return q
}

// columns are the figures of a row, of which one is drawn.
func (v *visit) columns(code, drawn string) []site.Column {
	l := v.Locale
	return []site.Column{
		{
			Name: l.T("Earnings"), Text: func(n int64) string { return l.Money(n, code) }, Drawn: drawn == "earnings",
		},
		{Name: l.T("Clicks"), Text: l.Count, Drawn: drawn == "clicks"},
		{Name: l.T("Customers"), Text: l.Count, Drawn: drawn == "customers"},
	}
}

// values are a row's figures in the order of the columns.
func values(f report.Figures) []int64 { return []int64{f.CommissionsMinor, f.Clicks, f.Customers} }

// periods are the figures by month or by day, without the empty ones before the first of a
// long time.
func (v *visit) periods(q report.Query, rows []report.Row, drawn string) site.Figures {
	l, head := v.Locale, v.Locale.T("Month")
	if q.Bucket == "day" {
		head = l.T("Day")
	}
	f := site.Figures{Caption: l.T("Performance over time"), Head: head, Columns: v.columns(q.Currency, drawn)}
	begun := slices.IndexFunc(rows, func(r report.Row) bool { return r.Figures != report.Figures{} })
	rows = rows[min(max(begun, 0), max(len(rows)-monthsShown, 0)):]
	for _, r := range rows {
		row := site.Row{Name: r.Key, Values: values(r.Figures)}
		if day, err := time.Parse(time.DateOnly, r.Key); err == nil && q.Bucket == "day" {
			row.Name, row.Short = l.Date(day), l.Count(int64(day.Day()))
		} else if err == nil {
			row.Name, row.Short = l.Month(day), l.ShortMonth(day)
		}
		f.Rows = append(f.Rows, row)
	}
	return f
}

// monthsShown is how many months a chart has at least.
const monthsShown = 12

// byLink are the figures by link, the best first.
func (v *visit) byLink(q report.Query, rows []report.Row, drawn string) (site.Ranks, error) {
	f := site.Figures{
		Caption: v.Locale.T("Performance by link"), Head: v.Locale.T("Link"), Columns: v.columns(q.Currency, drawn),
	}
	rows = first(rows, f.Columns)
	of := db.LinkByIDsParams{Ids: ids(rows, func(r report.Row) string { return r.Key }), OrgID: v.partner.OrgID}
	found, err := queries.LinkByIDs(v.Ctx(), v.portal.Pool, of)
	names := map[string]string{}
	for _, l := range found {
		names[l.ID] = nameOf(l)
	}
	for _, r := range rows {
		name := cmp.Or(names[r.Key], v.Locale.T("No separate link"))
		f.Rows = append(f.Rows, site.Row{Name: name, Values: values(r.Figures)})
	}
	return site.RankChart(f), err
}

// first are the first rows by the drawn figure, the best first.
func first(rows []report.Row, columns []site.Column) []report.Row {
	at := slices.IndexFunc(columns, func(c site.Column) bool { return c.Drawn })
	slices.SortStableFunc(rows, func(a, b report.Row) int {
		return cmp.Compare(values(b.Figures)[at], values(a.Figures)[at])
	})
	return rows[:min(len(rows), ranked)]
}

// bySource are the figures by source, the best first; none if no click had a source.
func (v *visit) bySource(q report.Query, rows []report.Row, drawn string) site.Ranks {
	f := site.Figures{
		Caption: v.Locale.T("Performance by source"), Head: v.Locale.T("Source"), Columns: v.columns(q.Currency, drawn),
	}
	if !slices.ContainsFunc(rows, func(r report.Row) bool { return r.Key != report.None }) {
		return site.Ranks{}
	}
	names := map[string]string{report.None: v.Locale.T("No source"), report.Other: v.Locale.T("Other sources")}
	for _, r := range first(rows, f.Columns) {
		f.Rows = append(f.Rows, site.Row{Name: cmp.Or(names[r.Key], r.Key), Values: values(r.Figures)})
	}
	return site.RankChart(f)
}
