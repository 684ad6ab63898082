package console

import (
	"cmp"
	"net/url"
	"slices"

	"rail/gen/api"
	"rail/server/http/site"
	"rail/server/opt"
)

const (
	// maxTop is the number of partners that can be sorted: those with the highest revenue.
	maxTop = 1000
	// topRows is the number of partners on the page.
	topRows = 30
	// topDays is the window of the figures in days.
	topDays = 30
)

// topOrders are the figures by which partners can be sorted, in the order of their columns.
var topOrders = []measure{measures[2], measures[3], measures[0], measures[1]}

// topData holds the data of the partners sorted by a figure.
type topData struct {
	Tabs         site.Tabs
	Filters      site.Filters
	Sorts        []site.Sort
	Rows         []api.ReportRow
	Count        int64 // of all partners with activity
	Days         int
	Groups, Tags []site.Option
	Bulk         site.Bulk
}

// partnerListTabs are the two lists of partners.
func (v *visit) partnerListTabs(sorted bool) site.Tabs {
	return site.Tabs{Label: "Partners", Links: []site.Link{
		{Path: v.at("/partners?show=all"), Name: "All", Current: !sorted},
		{Path: v.at("/partners?sort=revenue"), Name: "Top, last 30 days", Current: sorted},
	}}
}

// topPartners shows the partners with activity in the last 30 days, by a figure.
func topPartners(v *visit) error {
	params := v.query("group_id", "tag_id", "sort", "order")
	if !params.Has("sort") {
		params.Set("sort", measures[0].key)
	}
	from, to := v.lastDays(topDays)
	found, err := v.reportOf(api.RetrieveReportParams{
		Dimension:   new(api.ReportDimensionPartner),
		From:        from,
		To:          to,
		Currency:    &v.program.Currency,
		GroupID:     opt.OrNil(params.Get("group_id")),
		TagID:       opt.OrNil(params.Get("tag_id")),
		Compare:     new(api.ReportCompareNone),
		Attribution: new(api.ReportAttributionPartners),
		Top:         new(api.ReportTop(maxTop)),
	})
	if err != nil {
		return err
	}
	groups, tags, err := v.choices()
	if err != nil {
		return err
	}
	filters := v.filters("Find partners", v.filter("group_id", "Group", noneFirst("Any", groups)),
		v.filter("tag_id", "Tag", noneFirst("Any", tags)))
	filters.Hidden = []site.Hidden{{Name: "sort", Value: params.Get("sort")}, {Name: "order", Value: params.Get("order")}}
	rows := sortedRows(found.Rows, params.Get("sort"), params.Get("order") == ascending)
	return v.show(sheet{"partners-top", "/partners", "Partners", topData{
		Tabs:    v.partnerListTabs(true),
		Filters: filters,
		Sorts:   topSorts(v.Request().URL, params.Get("sort"), params.Get("order"), v.program.Currency),
		Rows:    rows[:min(len(rows), topRows)],
		Count:   found.RowCount,
		Days:    topDays,
		Groups:  groups,
		Tags:    tags,
		Bulk:    partnerBulk,
	}})
}

// ascending is the order of a sorted column that is not the default.
const ascending = "ascending"

// sortedRows sorts the rows of partners by a figure, the largest first unless up is true.
func sortedRows(rows []api.ReportRow, by string, up bool) []api.ReportRow {
	rows = slices.DeleteFunc(rows, func(r api.ReportRow) bool { return opt.Value(r.Key) == "" })
	figure := measureOf(by).of
	slices.SortStableFunc(rows, func(a, b api.ReportRow) int {
		if up {
			a, b = b, a
		}
		return cmp.Compare(figure(b), figure(a))
	})
	return rows
}

// topSorts are the heads of the columns. Another click on a head turns the order.
func topSorts(at *url.URL, by, order, currency string) (out []site.Sort) {
	for _, o := range topOrders {
		query := at.Query()
		query.Set("sort", o.key)
		query.Del("order")
		s := site.Sort{Name: o.named(o.name, currency), Number: true}
		if o.key == by {
			if s.Order = "descending"; order == ascending {
				s.Order = ascending
			} else {
				query.Set("order", ascending)
			}
		}
		s.Path = at.Path + "?" + query.Encode()
		out = append(out, s)
	}
	return out
}
