package console

import (
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"rail/gen/api"
	"rail/server/http/site"
	"rail/server/locale/currency"
	"rail/server/locale/plain"
	"rail/server/opt"
)

var reportRoutes = map[string]route{
	"GET /console/p/{program}/reports":     {Do: reports},
	"GET /console/p/{program}/reports.csv": {Do: reportTable},

	"GET /console/p/{program}/reports/cohorts":     {Do: cohortsOf},
	"GET /console/p/{program}/reports/cohorts.csv": {Do: cohortTable},
}

const (
	reportsPath  = "/reports"
	reportsTitle = "Reports"
	// maxReportRows is how many rows the page shows; the file has all.
	maxReportRows = 25
	// absent is a figure that a row does not have.
	absent = -1
)

// reportFilters are the parameters of the operation that the page's address may have.
var reportFilters = append([]string{
	"dimension", "from", "to", "partner_id", "group_id", "tag_id", "compare", "currency", "attribution",
}, originNames...)

// originNames are the dimensions of the origin, and the filters by them.
var originNames = []string{"source", "medium", "campaign", "referrer", "country", "device", "tracked_by"}

// drillDown maps a dimension to the next one, which its rows link to, and to that link's filter.
var drillDown = map[api.ReportDimension]struct{ dimension, filter string }{
	api.ReportDimensionGroup:   {"partner", "group_id"},
	api.ReportDimensionTag:     {"partner", "tag_id"},
	api.ReportDimensionPartner: {"link", "partner_id"},
}

// reportData holds the data of the page of reports.
type reportData struct {
	Filters site.Filters
	Spans   []site.Link
	Name    string // of the one partner that it is of, if it is
	Tiles   []site.Tile
	Chart   site.Chart
	Rows    site.Ranks
	More    int    // rows that only the file has
	What    string // the dimension, in words
	Funnel  bool   // the rows go from click to paid
	Table   string // the address of the file
	Cohorts string // the address of the page of cohorts
}

// reports shows how the program did over some days: over time, and by one dimension.
func reports(v *visit) error {
	query := v.reportQuery()
	page := reportData{
		What:    strings.ToLower(site.Words(query.Get("dimension"), vocabulary)),
		Funnel:  slices.Contains(originNames, query.Get("dimension")),
		Cohorts: v.at(cohortsPath),
	}
	if err := v.reportChoices(&page, query); err != nil {
		return err
	}
	if err := v.fillReport(&page, query); err != nil {
		p, ok := refused(err)
		if !ok || p.Status() == http.StatusNotFound {
			return err
		}
		v.fault = p
		for i, in := range page.Filters.Inputs {
			page.Filters.Inputs[i].Error = site.FaultsOf(p, in.Name)[in.Name]
		}
	}
	return v.show(sheet{"reports", reportsPath, reportsTitle, page})
}

// reportQuery returns the report's parameters in the address. The default is by partner, over the last 30 days.
func (v *visit) reportQuery() url.Values {
	filters := v.query(reportFilters...)
	if !filters.Has("dimension") {
		filters.Set("dimension", string(api.ReportDimensionPartner))
	}
	filtered := filters.Has("partner_id") || filters.Has("group_id") || filters.Has("tag_id")
	if !filters.Has("attribution") || filtered {
		filters.Set("attribution", string(api.ReportAttributionPartners))
	}
	from, to := v.lastDays(30)
	if !filters.Has("to") {
		filters.Set("to", *to)
	}
	if !filters.Has("from") {
		filters.Set("from", *from)
	}
	return filters
}

// fillReport requests the report twice: by period for the chart, and by its dimension.
func (v *visit) fillReport(page *reportData, query url.Values) error {
	over, err := v.reportBy(query, api.ReportDimensionPeriod)
	if err != nil {
		return err
	}
	revenue := revenueNames[query.Get("attribution")]
	page.Tiles, page.Chart = v.reportTiles(over, revenue), v.overTime(over, nil, measures[0], revenue)
	by := api.ReportDimension(query.Get("dimension"))
	if by == api.ReportDimensionPeriod { // the chart has it
		return nil
	}
	found, err := v.reportBy(query, by)
	if err != nil {
		return err
	}
	page.More = int(found.RowCount) - len(found.Rows)
	page.Rows = v.reportRanks(found, query)
	return nil
}

// reportBy asks the API for the first rows of the report by a dimension, or for all periods.
func (v *visit) reportBy(query url.Values, by api.ReportDimension) (*api.Report, error) {
	if by == api.ReportDimensionPeriod {
		return v.reportRows(query, by, nil)
	}
	return v.reportRows(query, by, new(api.ReportTop(maxReportRows)))
}

// reportRows asks the API for the report by a dimension, with at most top rows unless that is nil.
func (v *visit) reportRows(query url.Values, by api.ReportDimension, top *api.ReportTop) (*api.Report, error) {
	optional := func(name string) *string { return opt.OrNil(query.Get(name)) }
	return v.reportOf(api.RetrieveReportParams{
		Dimension: &by, From: optional("from"), To: optional("to"),
		PartnerID: optional("partner_id"), GroupID: optional("group_id"), TagID: optional("tag_id"),
		Compare: (*api.ReportCompare)(optional("compare")), Currency: optional("currency"),
		Attribution: (*api.ReportAttribution)(optional("attribution")), Top: top,
		Source: optional("source"), Medium: optional("medium"), Campaign: optional("campaign"),
		Referrer: optional("referrer"), Country: optional("country"), Device: optional("device"),
		TrackedBy: (*api.ReportTrackedBy)(optional("tracked_by")),
	})
}

// reportOf asks the API for a report of the program.
func (v *visit) reportOf(params api.RetrieveReportParams) (*api.Report, error) {
	params.ProgramID = v.program.ID
	reply, err := v.console.api.RetrieveReportWithResponse(v.Ctx(), &params)
	if err != nil {
		return nil, err
	}
	return reply.JSON200, nil
}

// revenueBefore returns the revenue of the period before by the keys of its rows.
func revenueBefore(r *api.Report) map[string]int64 {
	before := map[string]int64{}
	if r.PreviousPeriod != nil {
		for _, row := range r.PreviousPeriod.Rows {
			before[opt.Value(row.Key)] = row.RevenueMinor
		}
	}
	return before
}

// reportRanks are the rows of a report with their revenue drawn. A row of what can be looked into leads there.
func (v *visit) reportRanks(r *api.Report, query url.Values) site.Ranks {
	if slices.Contains(originNames, string(r.Dimension)) {
		return v.funnel(r, query)
	}
	amount := func(minor int64) string { return v.Locale.Money(minor, r.Currency) }
	f := site.Figures{
		Caption: "By " + string(r.Dimension), Head: site.Words(string(r.Dimension), vocabulary),
		Columns: []site.Column{
			{Name: measures[0].named("Revenue", r.Currency), Text: amount, Drawn: true},
			{Name: measures[1].named("Commissions", r.Currency), Text: amount}, {Name: "Clicks", Text: v.numberOrDash},
			{Name: "Customers", Text: v.Locale.Count}, {Name: "Sales", Text: v.Locale.Count},
			{Name: "Conversion rate", Text: share}, {Name: "Sales refunded in full", Text: share},
		},
	}
	before := revenueBefore(r)
	if r.PreviousPeriod != nil {
		f.Columns = slices.Insert(f.Columns, 1, site.Column{
			Name: measures[0].named("Revenue before", r.Currency), Text: amount,
		})
	}
	for _, row := range r.Rows {
		values := []int64{
			row.RevenueMinor, row.CommissionsMinor, orAbsent(row.Clicks), row.Customers, row.Sales,
			conversion(row), orAbsent(row.RefundBps),
		}
		if r.PreviousPeriod != nil {
			values = slices.Insert(values, 1, before[opt.Value(row.Key)])
		}
		f.Rows = append(f.Rows, site.Row{
			Name: row.Label, Path: into(r.Dimension, opt.Value(row.Key), query), Values: values,
		})
	}
	return site.RankChart(f)
}

// funnel are the rows of a report by a part of the origin: the way from clicks to paid commissions.
func (v *visit) funnel(r *api.Report, query url.Values) site.Ranks {
	amount := func(minor int64) string { return v.Locale.Money(minor, r.Currency) }
	f := site.Figures{
		Caption: "From click to paid, by " + string(r.Dimension), Head: site.Words(string(r.Dimension), vocabulary),
		Columns: []site.Column{
			{Name: "Clicks", Text: v.Locale.Count}, {Name: "Leads", Text: v.Locale.Count},
			{Name: "Customers", Text: v.Locale.Count}, {Name: "Conversion rate", Text: share},
			{Name: "Sales", Text: v.Locale.Count},
			{Name: measures[0].named("Revenue", r.Currency), Text: amount, Drawn: true},
			{Name: measures[1].named("Commissions", r.Currency), Text: amount},
			{Name: measures[1].named("Paid commissions", r.Currency), Text: amount},
		},
	}
	for _, row := range r.Rows {
		f.Rows = append(f.Rows, site.Row{
			Name: row.Label, Path: into(r.Dimension, opt.Value(row.Key), query), Values: []int64{
				opt.Value(row.Clicks), opt.Value(row.Leads), row.Customers, conversion(row), row.Sales, row.RevenueMinor,
				row.CommissionsMinor, row.PaidMinor,
			},
		})
	}
	return site.RankChart(f)
}

// into is the address of the report of one row; "" where it has none. A source leads to its partners, and a value of
// another part of the origin to its revenue over time, unless the report has such a filter: sums have one at a time.
func into(by api.ReportDimension, key string, filters url.Values) string {
	next, ok := drillDown[by]
	if slices.Contains(originNames, string(by)) {
		ok = !slices.ContainsFunc(append([]string{"partner_id", "group_id", "tag_id"}, originNames...), filters.Has)
		next.dimension, next.filter = "period", string(by)
		if by == api.ReportDimensionSource {
			next.dimension = "partner"
		}
	}
	if by == api.ReportDimensionPartner && slices.ContainsFunc(originNames, filters.Has) {
		return ""
	}
	if !ok || key == "" || key == "direct" {
		return ""
	}
	query := url.Values{}
	maps.Copy(query, filters)
	query.Set("dimension", next.dimension)
	query.Set(next.filter, key)
	return "?" + query.Encode()
}

// orAbsent is a figure that a row may lack.
func orAbsent(figure *int64) int64 {
	if figure == nil {
		return absent
	}
	return *figure
}

// exactClicks is the number of clicks from which a conversion rate is shown with decimals.
const exactClicks = 100

// conversion is a row's conversion rate, in whole percents if it has few clicks; absent with more customers than
// clicks, some of whom came without a click.
func conversion(row api.ReportRow) int64 {
	bps, clicks := orAbsent(row.ConversionBps), opt.Value(row.Clicks)
	if row.Customers > clicks {
		return absent
	}
	if bps != absent && clicks < exactClicks {
		return (bps + 50) / 100 * 100
	}
	return bps
}

// numberOrDash formats a number; absent is a dash.
func (v *visit) numberOrDash(n int64) string {
	if n == absent {
		return "–"
	}
	return v.Locale.Count(n)
}

// share is a share in basis points as percent, with at most one decimal.
func share(bps int64) string {
	if bps == absent {
		return "–"
	}
	return strconv.FormatFloat(math.Round(float64(bps)/10)/10, 'f', -1, 64) + " %"
}

// reportChoices fills the filters.
func (v *visit) reportChoices(page *reportData, query url.Values) error {
	at := v.Request().URL
	groups, tags, err := v.choices()
	if err != nil {
		return err
	}
	line := func(kind, name, label string, options []site.Option) site.Input {
		return site.Input{Name: name, ID: name, Label: label, Type: kind, Value: query.Get(name), Options: options}
	}
	page.Filters = site.Filters{Path: v.at(reportsPath), Label: reportsTitle, Inputs: []site.Input{
		line("date", "from", "From", nil), line("date", "to", "To", nil),
		line("select", "dimension", "By", dimensions()), line("select", "group_id", "Group", noneFirst("Every group", groups)),
		line("select", "tag_id", "Tag", noneFirst("Every tag", tags)), line("select", "compare", "Compared with", compared),
		line("select", "attribution", "Revenue", attributions),
	}}
	page.Spans, page.Table = v.reportSpans(query), v.at("/reports.csv")+"?"+query.Encode()
	for _, name := range originNames {
		if value := query.Get(name); value != "" {
			page.Filters.Hidden = append(page.Filters.Hidden, site.Hidden{Name: name, Value: value})
			page.Filters.Chips = append(page.Filters.Chips, site.Chip{
				Text: site.Words(name, vocabulary) + ": " + value, Without: site.Without(at, name),
			})
		}
	}
	if id := query.Get("partner_id"); id != "" {
		one, err := v.partnerOf(id)
		if err != nil {
			return err
		}
		page.Name = nameOf(*one)
		page.Filters.Hidden = append(page.Filters.Hidden, site.Hidden{Name: "partner_id", Value: id})
		page.Filters.Chips = append(page.Filters.Chips, site.Chip{
			Text: "Partner: " + page.Name, Without: site.Without(at, "partner_id", "dimension"),
		})
	}
	return nil
}

// attributions are the options for the figures.
var attributions = []site.Option{
	{Value: string(api.ReportAttributionPartners), Label: "From partners"},
	{Value: string(api.ReportAttributionDirect), Label: "Direct, without a partner"},
	{Value: string(api.ReportAttributionAll), Label: "All"},
}

// revenueNames name the revenue of a report by its attribution.
var revenueNames = map[string]string{"partners": partnerRevenue, "direct": "Direct revenue", "all": "Revenue"}

// compared are the options for the comparison.
var compared = []site.Option{{Value: "", Label: "Previous period"}, {Value: "none", Label: "Nothing"}}

// dimensions are the options for the rows.
func dimensions() (out []site.Option) {
	for _, d := range append([]string{"partner", "link", "product", "group", "tag", "period"}, originNames...) {
		out = append(out, site.Option{Value: d, Label: site.Words(d, vocabulary)})
	}
	return out
}

// reportSpans lead to the report of the last days.
func (v *visit) reportSpans(filters url.Values) (out []site.Link) {
	for _, days := range spans {
		query := url.Values{}
		maps.Copy(query, filters)
		from, to := v.lastDays(days)
		query.Set("from", *from)
		query.Set("to", *to)
		out = append(out, site.Link{
			Path: "?" + query.Encode(), Name: spanName(days), Current: filters.Get("from") == *from && filters.Get("to") == *to,
		})
	}
	return out
}

// reportTable sends the report as a file, with amounts in the currency's unit and shares in percent.
func reportTable(v *visit) error {
	query := v.reportQuery()
	query.Set("compare", string(api.ReportCompareNone)) // the file has no column of it
	found, err := v.reportRows(query, api.ReportDimension(query.Get("dimension")), nil)
	if err != nil {
		return err
	}
	money := func(name string) string { return name + " (" + found.Currency + ")" }
	rows := [][]string{{
		site.Words(string(found.Dimension), vocabulary), money(revenueNames[query.Get("attribution")]), money("Commissions"),
		"Clicks", "Leads", "Customers", "Sales", "Sales refunded in full", "Conversion rate", money("Paid commissions"),
	}}
	for _, r := range found.Rows {
		rows = append(rows, []string{
			plain.Cell(r.Label),
			currency.Decimal(r.RevenueMinor, found.Currency),
			currency.Decimal(r.CommissionsMinor, found.Currency),
			text(r.Clicks),
			text(r.Leads),
			text(r.Customers),
			text(r.Sales),
			text(r.Refunded),
			share(orAbsent(r.ConversionBps)),
			currency.Decimal(r.PaidMinor, found.Currency),
		})
	}
	return site.SendCSV(v, "report-"+cleanName(query.Get("dimension")), rows)
}

// cleanName is a part of a file's name without what would end it.
func cleanName(text string) string {
	return string(slices.DeleteFunc([]rune(text), func(r rune) bool { return (r < 'a' || r > 'z') && r != '_' }))
}
