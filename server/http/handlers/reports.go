package handlers

import (
	"context"
	"time"

	openapi_types "github.com/oapi-codegen/runtime/types"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/clock"
	"rail/server/locale/currency"
	"rail/server/money/report"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/work"
)

// reportMonths is the default length of a report.
const reportMonths = 12

// RetrieveReport returns the report of a range of days (decisions, 139 to 145 and 199).
func (s *Server) RetrieveReport(ctx context.Context,
	r api.RetrieveReportRequestObject) (api.RetrieveReportResponseObject, error) {
	u, p := work.From(ctx), r.Params
	q, err := reportQuery(ctx, u, p)
	if err != nil {
		return nil, err
	}
	// By default, compare with the preceding period of the same length.
	q.Compared = p.Compare == nil || *p.Compare == api.ReportComparePreviousPeriod
	answers, err := report.Read(ctx, u, q)
	if err != nil {
		return nil, err
	}
	answer := answers[0]
	count := len(answer.Rows)
	var shifts []report.Shift
	if p.Changes != nil {
		shifts = answer.Shifts(int(*p.Changes))
	}
	if p.Top != nil {
		answer.Top(int(*p.Top))
	}
	labels, err := reportLabels(ctx, u, q, answer.Rows, answer.Before.Rows, rowsOf(shifts))
	if err != nil {
		return nil, err
	}
	out := api.Report{
		Object:          "report",
		Dimension:       api.ReportDimension(q.By),
		Currency:        q.Currency,
		From:            day(q.From),
		To:              day(q.To),
		RowCount:        int64(count),
		Rows:            toReportRows(q, answer.Rows, labels),
		Totals:          toReportTotals(q, answer.Totals),
		DrillDownConfig: drillDown(q.By),
	}
	if q.Compared {
		b := q.Before()
		out.PreviousPeriod = &api.ReportPeriod{
			From: day(b.From), To: day(b.To), Rows: toReportRows(q, answer.Before.Rows, labels),
			Totals: toReportTotals(q, answer.Before.Totals),
		}
		out.Delta = reportDelta(answer.Before.Totals, answer.Totals)
	}
	if p.Changes != nil {
		out.Changes = toReportChanges(shifts, labels)
	}
	return api.RetrieveReport200JSONResponse(out), nil
}

// rowsOf returns rows with the keys of changes, for their labels.
func rowsOf(shifts []report.Shift) []report.Row {
	out := make([]report.Row, len(shifts))
	for i, s := range shifts {
		out[i] = report.Row{Key: s.Key, Label: s.Label}
	}
	return out
}

func toReportChanges(shifts []report.Shift, labels map[string]string) []api.ReportChange {
	out := make([]api.ReportChange, len(shifts))
	for i, s := range shifts {
		out[i] = api.ReportChange{
			Key: opt.OrNil(s.Key), Label: labelOf(labels, s.Key), RevenueMinor: s.Now, PreviousRevenueMinor: s.Before,
		}
	}
	return out
}

// labelOf returns the label of a key. A key without a label, such as that of a deleted object, is its own label.
func labelOf(labels map[string]string, key string) string {
	if label, found := labels[key]; found {
		return label
	}
	return key
}

// reportDelta returns the change from one period to the next.
func reportDelta(before, now report.Figures) *api.ReportDelta {
	return &api.ReportDelta{
		Revenue: api.ReportRevenueDelta{
			AbsoluteMinor: now.RevenueMinor - before.RevenueMinor,
			ChangeBps:     report.Change(before.RevenueMinor, now.RevenueMinor),
		},
		Customers: api.ReportCustomersDelta{
			Absolute:  now.Customers - before.Customers,
			ChangeBps: report.Change(before.Customers, now.Customers),
		},
	}
}

// reportQuery reads and validates the parameters.
func reportQuery(ctx context.Context, u *work.Unit, p api.RetrieveReportParams) (report.Query, error) {
	q := report.Query{
		OrgID:     u.OrgID,
		ProgramID: p.ProgramID,
		By:        report.Partner,
		PartnerID: p.PartnerID,
		GroupID:   p.GroupID,
		TagID:     p.TagID,
	}
	if p.Dimension != nil {
		q.By = report.By(*p.Dimension)
	}
	if p.Attribution != nil {
		q.Attribution = report.Attribution(*p.Attribution)
	}
	if err := directOf(q); err != nil {
		return q, err
	}
	var err error
	if q.Origin, err = reportOrigin(p); err != nil {
		return q, err
	}
	// The program has the currency and the zone; the other references share a round trip.
	prog, err := u.Program(ctx, p.ProgramID)
	if err != nil {
		return q, err
	}
	q.Zone = prog.TimeZone
	if err := reportWindow(&q, p, u.Now.DayIn(clock.StoredZone(q.Zone))); err != nil {
		return q, err
	}
	// A report omits money in other currencies, and never converts it.
	q.Currency, q.ProgramCurrency = prog.Currency, prog.Currency
	if p.Currency != nil {
		if q.Currency, err = currency.Parse(*p.Currency); err != nil {
			return q, err
		}
	}
	return q, u.Check(ctx, prog.ID, work.PartnerRef("partner_id", p.PartnerID), work.GroupRef("group_id", p.GroupID),
		work.TagRef("tag_id", p.TagID))
}

// directOf refuses direct figures of a partner, group or tag.
func directOf(q report.Query) error {
	if q.Attribution == report.DirectOnly && (q.PartnerID != nil || q.GroupID != nil || q.TagID != nil) {
		return problem.Invalid("attribution", "attribution must not be direct with a filter by partner, group or tag.")
	}
	return nil
}

// reportWindow fills in the days and, for periods, the size of the rows.
// Both ends are days in the program's zone, and both are included.
func reportWindow(q *report.Query, p api.RetrieveReportParams, today time.Time) (err error) {
	// The default of to is today, and that of from depends on to.
	if q.To, err = reportDay("to", p.To, today); err != nil {
		return err
	}
	if q.From, err = reportDay("from", p.From, q.To.AddDate(0, -reportMonths, 0)); err != nil {
		return err
	}
	if q.From.After(q.To) {
		return problem.Invalid("from", "from must not lie after to.")
	}
	// Only periods are split by time; every other dimension has a row for each of
	// its objects, in the order of their revenue.
	if q.By == report.Period && p.Top != nil {
		return problem.Invalid("top", "top is not for dimension=period.")
	}
	if p.Changes != nil && (q.By == report.Period || p.Compare != nil && *p.Compare == api.ReportCompareNone) {
		return problem.Invalid("changes", "changes is not for dimension=period or compare=none.")
	}
	if q.By != report.Period {
		if p.Granularity != nil {
			return problem.Invalid("granularity", "granularity is for dimension=period only.")
		}
		return nil
	}
	// Without a granularity a month has rows of days, half a year rows of weeks,
	// and more rows of months.
	switch days := q.To.Sub(q.From)/(24*time.Hour) + 1; {
	case p.Granularity != nil:
		q.Bucket = string(*p.Granularity)
	case days <= 31:
		q.Bucket = "day"
	case days <= 182:
		q.Bucket = "week"
	default:
		q.Bucket = "month"
	}
	if q.TooLong() {
		return problem.On("from", problem.RangeTooLarge,
			"A report has at most %d rows of a %s; take a later from, or a coarser granularity.", report.MaxBuckets, q.Bucket)
	}
	return nil
}

// reportDay parses an ISO date, or returns otherwise if none is given.
func reportDay(param string, value *string, otherwise time.Time) (time.Time, error) {
	if value == nil {
		return otherwise, nil
	}
	at, bare, err := clock.ParseDate(*value)
	if err != nil || !bare {
		return time.Time{}, problem.Invalid(param, "%s must be a date such as 2026-08-31.", param)
	}
	return at.Time, nil
}

// nameless holds the labels of rows without a link, group, tag or product.
var nameless = map[report.By]string{
	report.Link: "Without link", report.Group: "Without group", report.Tag: "Without tag",
	report.Product: "Without product",
}

// reportLabels returns the labels of rows by their keys. Labels of products are in the sales;
// objects are looked up, for both periods at once.
func reportLabels(ctx context.Context, u *work.Unit, q report.Query,
	windows ...[]report.Row) (map[string]string, error) {
	labels := map[string]string{"": nameless[q.By], report.Direct: "Direct"}
	var ids []string
	for _, rows := range windows {
		for _, r := range rows {
			switch {
			// These have labels.
			case r.Key == "" || r.Key == report.Direct:
			case q.By == report.Period:
				labels[r.Key] = periodLabel(q.Bucket, r.Key)
			case q.By.Original():
				labels[r.Key] = originLabel(q.By, r.Key)
			case q.By == report.Product && r.Label != "":
				labels[r.Key] = r.Label
			case q.By != report.Product:
				ids = append(ids, r.Key)
			}
		}
	}
	if len(ids) == 0 {
		return labels, nil
	}
	rows, err := queries.ReportLabels(ctx, u.DB(), db.ReportLabelsParams{Ids: opt.Distinct(ids), OrgID: u.OrgID})
	for _, r := range rows {
		labels[r.ID] = r.Label
	}
	return labels, err
}

// periodLabel formats the first day of a period for people, by the size of the periods.
func periodLabel(bucket, key string) string {
	at, err := time.Parse(time.DateOnly, key)
	switch {
	case err != nil || bucket == "day":
		return key
	case bucket == "week":
		return "Week of " + key
	}
	return at.Format("January 2006")
}

// toReportRows converts rows.
func toReportRows(q report.Query, rows []report.Row, labels map[string]string) []api.ReportRow {
	out := make([]api.ReportRow, len(rows))
	for i, r := range rows {
		t := toReportTotals(q, r.Figures)
		out[i] = api.ReportRow{
			Key:              opt.OrNil(r.Key),
			Label:            labelOf(labels, r.Key),
			Clicks:           t.Clicks,
			Leads:            t.Leads,
			Customers:        t.Customers,
			Sales:            t.Sales,
			Refunded:         t.Refunded,
			RevenueMinor:     t.RevenueMinor,
			CommissionsMinor: t.CommissionsMinor,
			PaidMinor:        t.PaidMinor,
			ConversionBps:    t.ConversionBps,
			RefundBps:        t.RefundBps,
		}
	}
	return out
}

// toReportTotals adds the ratios. A product has no clicks and no leads.
func toReportTotals(q report.Query, f report.Figures) api.ReportTotals {
	t := api.ReportTotals{
		Clicks:           &f.Clicks,
		Leads:            &f.Leads,
		Customers:        f.Customers,
		Sales:            f.Sales,
		Refunded:         f.Refunded,
		RevenueMinor:     f.RevenueMinor,
		CommissionsMinor: f.CommissionsMinor,
		PaidMinor:        f.PaidMinor,
		ConversionBps:    report.Bps(f.Customers, f.Clicks),
		RefundBps:        report.Bps(f.Refunded, f.Sales),
	}
	if q.By == report.Product {
		t.Clicks, t.Leads, t.ConversionBps = nil, nil, nil
	}
	return t
}

// drillDown returns the filter of the same report for a row (decisions, 144), or nil for dimensions
// without one.
func drillDown(by report.By) *api.ReportDrillDown {
	switch by {
	case report.Partner, report.Group, report.Tag, report.Link:
		return &api.ReportDrillDown{Field: "key", FilterType: string(by) + "_id", ValueProp: "key"}
	}
	if by.Original() {
		return &api.ReportDrillDown{Field: "key", FilterType: string(by), ValueProp: "key"}
	}
	return nil
}

// day returns the date of a time.
func day(t time.Time) openapi_types.Date { return openapi_types.Date{Time: t} }
