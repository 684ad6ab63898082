package console

import (
	"strings"
	"time"

	"rail/gen/api"
	"rail/server/clock"
	"rail/server/http/site"
	"rail/server/opt"
)

// partnerRevenue names the revenue of partners’ customers.
const partnerRevenue = "Partner revenue"

// measure is a figure of reports that a chart can show.
type measure struct {
	key, name string
	of        func(api.ReportRow) int64
	money     bool
}

// measures are the figures of the chart, the default one first.
var measures = []measure{
	{"revenue", "Revenue", func(r api.ReportRow) int64 { return r.RevenueMinor }, true},
	{"commissions", "Commissions", func(r api.ReportRow) int64 { return r.CommissionsMinor }, true},
	{"clicks", "Clicks", func(r api.ReportRow) int64 { return opt.Value(r.Clicks) }, false},
	{"customers", "Customers", func(r api.ReportRow) int64 { return r.Customers }, false},
}

// named adds the currency to the name of an amount: reports count the sales in one currency.
func (m measure) named(name, currency string) string {
	if !m.money {
		return name
	}
	return name + " (" + currency + ")"
}

// measureOf returns a figure by its key, or revenue.
func measureOf(key string) measure {
	for _, m := range measures {
		if m.key == key {
			return m
		}
	}
	return measures[0]
}

// brief returns the short text of a figure in a currency.
func (v *visit) brief(m measure, currency string) func(int64) string {
	if !m.money {
		return v.Locale.Count
	}
	return func(minor int64) string { return v.Locale.Brief(minor, currency) }
}

// figureTile returns the tile of a total of a report by date, with its change and its course.
func (v *visit) figureTile(r *api.Report, name string, m measure) site.Tile {
	total := func(t api.ReportTotals) int64 {
		return m.of(api.ReportRow{
			RevenueMinor: t.RevenueMinor, CommissionsMinor: t.CommissionsMinor, Clicks: t.Clicks, Customers: t.Customers,
		})
	}
	text := v.brief(m, r.Currency)
	name = m.named(name, r.Currency)
	t := site.Tile{Name: name, Text: text(total(r.Totals))}
	if r.PreviousPeriod != nil {
		t = site.NewTile(name, total(r.Totals), total(r.PreviousPeriod.Totals), text)
	}
	if m.money {
		t.Exact = v.Locale.Money(total(r.Totals), r.Currency)
	}
	t.Spark = course(r, m.of)
	return t
}

// course is the line of a figure over the rows of a report by date.
func course(r *api.Report, of func(api.ReportRow) int64) site.Spark {
	values := make([]int64, len(r.Rows))
	for i, row := range r.Rows {
		values[i] = of(row)
	}
	return site.NewSpark(values)
}

// homeTiles are the figures of the home page: the partners' results, and the debt to them.
func (v *visit) homeTiles(r *api.Report, owed []api.ProgramOwed) []site.Tile {
	return []site.Tile{
		v.figureTile(r, partnerRevenue, measures[0]),
		v.figureTile(r, "New customers", measures[3]),
		v.owedTile(owed),
		v.conversionTile(r),
	}
}

// owedTile returns the tile of the amounts due to partners, that in the program's currency first.
func (v *visit) owedTile(owed []api.ProgramOwed) site.Tile {
	t := site.Tile{Name: "Owed to partners", Text: v.Locale.Brief(0, v.program.Currency), Path: v.at("/payouts")}
	var others []string
	for _, o := range owed {
		switch {
		case o.Currency == v.program.Currency:
			t.Text, t.Exact = v.Locale.Brief(o.DueMinor, o.Currency), v.Locale.Money(o.DueMinor, o.Currency)
			t.Change.Words = "due to " + v.partnersIn(o.PartnerCount)
		case o.DueMinor != 0 && len(others) < maxOthers:
			others = append(others, v.Locale.Brief(o.DueMinor, o.Currency))
		}
	}
	if len(others) > 0 {
		t.Note = "and " + strings.Join(others, ", ") + ". "
	}
	if t.Change.Words != "" || len(others) > 0 {
		t.Note += v.nextRunWords()
		t.Path = v.at("/payouts/run")
	}
	return t
}

// nextRunWords returns the date of the next run, or the period that a run started by a person collects.
func (v *visit) nextRunWords() string {
	month := clock.MonthOf(v.Today())
	if v.program.AutoPayoutsEnabled {
		return "Next run: " + v.Locale.Date(month.AddDate(0, 1, 0))
	}
	return "Next run: commissions through " + v.Locale.Date(month.AddDate(0, 0, -1))
}

// maxOthers is the number of further currencies on the tile of debts.
const maxOthers = 3

// conversionTile returns the tile of the share of clicks that became customers.
func (v *visit) conversionTile(r *api.Report) site.Tile {
	t := site.Tile{Name: "Conversion", Text: "–", Change: site.Change{Words: v.Locale.Count(opt.Value(r.Totals.Clicks)) + " clicks"}}
	if bps := r.Totals.ConversionBps; bps != nil {
		t.Text = share(conversion(api.ReportRow{
			ConversionBps: bps, Clicks: r.Totals.Clicks, Customers: r.Totals.Customers,
		}))
	}
	t.Spark = course(r, func(row api.ReportRow) int64 { return opt.Value(row.ConversionBps) })
	return t
}

// overTime is the area chart of a figure of a report by date beside the period before, with the other figures in the
// table. name names the figure. direct is the same report of figures without a partner; nil leaves them out.
func (v *visit) overTime(r, direct *api.Report, by measure, name string) site.Chart {
	f := site.Figures{
		Caption: by.named(name, r.Currency) + " over time", Head: "Date",
		Partial: r.To.Format(time.DateOnly) == v.Today().Format(time.DateOnly),
	}
	add := func(name string, m measure, drawn bool, style site.LineStyle) {
		f.Columns = append(f.Columns, site.Column{
			Name: m.named(name, r.Currency), Text: v.brief(m, r.Currency), Drawn: drawn, Style: style,
		})
	}
	add(name, by, true, site.LineMain)
	if r.PreviousPeriod != nil {
		add("Period before", by, true, site.LineBefore)
	}
	if direct != nil {
		add("Direct "+strings.ToLower(by.name), by, by.money, site.LineOther)
	}
	for _, m := range measures {
		if m.key != by.key {
			add(m.name, m, false, site.LineMain)
		}
	}
	for i, row := range r.Rows {
		values := []int64{by.of(row)}
		if r.PreviousPeriod != nil {
			values = append(values, by.of(rowAt(r.PreviousPeriod.Rows, i)))
		}
		if direct != nil {
			values = append(values, by.of(rowAt(direct.Rows, i)))
		}
		for _, m := range measures {
			if m.key != by.key {
				values = append(values, m.of(row))
			}
		}
		name, short := v.periodName(row)
		f.Rows = append(f.Rows, site.Row{Name: name, Short: short, Values: values})
	}
	return site.AreaChart(f)
}

// rowAt returns a row, or zeros if there is none: the period before may have one week or month less.
func rowAt(rows []api.ReportRow, i int) api.ReportRow {
	if i >= len(rows) {
		return api.ReportRow{}
	}
	return rows[i]
}

// periodName returns the name of a row by date, in full and in short. The API's label has an ISO date in it, or is the
// name of a month.
func (v *visit) periodName(row api.ReportRow) (name, short string) {
	key := opt.Value(row.Key)
	day, err := time.Parse(time.DateOnly, key)
	switch {
	case err != nil:
		return row.Label, key
	case !strings.Contains(row.Label, key):
		return row.Label, v.Locale.ShortMonth(day)
	}
	return strings.ReplaceAll(row.Label, key, v.Locale.Date(day)), v.Locale.DayMonth(day)
}

// reportTiles are the totals of a report beside those of the period before. revenue names its revenue.
func (v *visit) reportTiles(r *api.Report, revenue string) []site.Tile {
	return []site.Tile{
		v.figureTile(r, "Clicks", measures[2]),
		v.figureTile(r, "Customers", measures[3]),
		v.figureTile(r, revenue, measures[0]),
		v.figureTile(r, "Commissions", measures[1]),
	}
}
