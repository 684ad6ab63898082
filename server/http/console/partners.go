package console

import (
	"net/url"
	"slices"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/server/clock"
	"rail/server/http/site"
	"rail/server/opt"
)

var partnerListRoutes = map[string]route{
	"GET /console/p/{program}/partners":       {Do: partners},
	"GET /console/p/{program}/partners.csv":   {Do: partnersTable},
	"GET /console/p/{program}/partners/new":   {Do: newPartner},
	"POST /console/p/{program}/partners/new":  {Do: createPartner},
	"POST /console/p/{program}/partners/bulk": {Do: changePartners},
	"GET /console/p/{program}/partners/ban":   {Do: bansForm},
	"POST /console/p/{program}/partners/ban":  {Do: bans},
}

// partnerFilters are the parameters of the list of partners, as the API names them.
var partnerFilters = []string{"search", "status", "group_id", "tag_id", "has_payout_method"}

// quietFilter is the filter of partners without a click in the last quietDays days.
const (
	quietFilter = "quiet"
	quietDays   = 30
)

// quietSince returns the day since which the filtered partners have no click; nil without the filter.
func (v *visit) quietSince() *string {
	if cleaned(v.QueryParam(quietFilter)) == "" {
		return nil
	}
	since := v.Today().AddDate(0, 0, -quietDays)
	return new(clock.Midnight(since, v.Locale.Zone()).String())
}

// partnersData holds the data of the list of partners.
type partnersData struct {
	Tabs    site.Tabs
	Columns columns
	Sorts   []site.Sort // heads of the figures, by their columns' order
	Filters site.Filters
	Listing site.Listing
	Groups  []site.Option
	Tags    []site.Option
	Bulk    site.Bulk
}

// partners lists the partners of a program.
func partners(v *visit) error {
	switch sorted, err := v.opensSorted(); {
	case err != nil:
		return err
	case sorted:
		return topPartners(v)
	}
	turn, err := site.TurnOf(v.QueryParams())
	if err != nil {
		return err
	}
	values := v.query(partnerFilters...)
	params := &api.ListPartnersParams{
		ProgramID: v.program.ID, StartingAfter: turn.After, EndingBefore: turn.Before, Limit: new(int64(rowsOfPage)),
		Status: enums[api.PartnerStatus](v, "status"), Search: opt.OrNil(values.Get("search")), GroupID: opt.OrNil(values.Get("group_id")),
		TagID:           opt.OrNil(values.Get("tag_id")),
		HasPayoutMethod: (*api.HasPayoutMethodFilter)(opt.OrNil(values.Get("has_payout_method"))), NoClickSince: v.quietSince(),
		Expand:  []api.PartnerExpand{api.PartnerExpandGroup},
		Include: []api.PartnerInclude{api.PartnerIncludeStats, api.PartnerIncludeTags},
	}
	reply, err := v.console.api.ListPartnersWithResponse(v.Ctx(), params)
	if err != nil {
		return err
	}
	groups, tags, err := v.choices()
	if err != nil {
		return err
	}
	list, shown := reply.JSON200, v.columns(partnerColumns)
	found := pageOf(list.Data, list.HasMore, list.TotalCount)
	return v.show(sheet{"partners", "/partners", "Partners", partnersData{
		Tabs: v.partnerListTabs(false), Columns: shown, Sorts: v.partnerSorts(shown),
		Filters: v.filters("Find partners", v.search("search", "Name, email or handle", "search"),
			v.filter("status", "State", listed(partnerStates...)),
			v.filter("group_id", "Group", noneFirst("Any", groups)), v.filter("tag_id", "Tag", noneFirst("Any", tags)),
			v.filter("has_payout_method", "Payout method", []site.Option{
				{Label: "Any"}, {Value: "false", Label: "No payout method"}, {Value: "true", Label: "With a payout method"},
			}),
			v.filter(quietFilter, "Clicks", []site.Option{{Label: "Any"}, {Value: "on", Label: "No click in 30 days"}})),
		Groups: groups, Tags: tags, Bulk: partnerBulk,
		Listing: site.Listed(v.Request().URL, turn, found, func(p api.Partner) string { return p.ID }, list.Data),
	}})
}

// opensSorted reports whether the list is sorted by a figure: if that was chosen, and at first once the program has
// sales of partners.
func (v *visit) opensSorted() (bool, error) {
	if v.Request().URL.RawQuery != "" || v.Form != nil {
		return v.QueryParam("sort") != "", nil
	}
	from, to := v.lastDays(topDays)
	found, err := v.reportOf(api.RetrieveReportParams{
		Dimension: new(api.ReportDimensionPeriod), From: from, To: to, Currency: &v.program.Currency,
		Compare: new(api.ReportCompareNone), Attribution: new(api.ReportAttributionPartners),
	})
	return err == nil && found.Totals.Sales > 0, err
}

// partnerSorts returns the heads of the shown figures, which lead to the partners sorted by them.
func (v *visit) partnerSorts(shown columns) (out []site.Sort) {
	for i, s := range topSorts(&url.URL{Path: v.at("/partners")}, "", "", v.program.Currency) {
		if key := topOrders[i].key; key != "revenue" && shown.Has(key) {
			out = append(out, s)
		}
	}
	return out
}

// rowsOfPage is the number of partners on a page, each with its tags and figures.
const rowsOfPage = 25

// partnerBulk lists the bulk actions on partners.
var partnerBulk = site.Bulk{What: "partners", Actions: []site.Action{
	{Label: "Move to group", Name: "do", Value: "group"},
	{Label: "Add tag", Name: "do", Value: "tag"},
	{Label: "Remove tag", Name: "do", Value: "untag"},
	{Label: "Email…", Name: "do", Value: "mail"},
	{Label: "Reinstate", Name: "do", Value: "reinstate"},
	{Label: "Suspend", Name: "do", Value: "suspend", Danger: true},
	{Label: "Ban…", Name: "do", Value: "ban", Danger: true},
}}

// partnerStates are the states by which the list can be narrowed.
var partnerStates = []string{
	string(api.PartnerStatusActive), string(api.PartnerStatusPending), string(api.PartnerStatusSuspended),
	string(api.PartnerStatusDeclined),
}

// labelOf returns the label of an option; "" for none.
func labelOf(options []site.Option, value string) string {
	if at := slices.IndexFunc(options, func(o site.Option) bool { return o.Value == value }); at >= 0 {
		return options[at].Label
	}
	return ""
}

// groupChoices returns the program's groups as options.
func (v *visit) groupChoices() ([]site.Option, error) {
	return optionsOf(v.groups, func(g api.Group) site.Option { return site.Option{Value: g.ID, Label: g.Name} })
}

// groupsDefaultFirst returns the program's groups as options, the default one first.
func (v *visit) groupsDefaultFirst() ([]site.Option, error) {
	options, err := v.groupChoices()
	if err != nil {
		return nil, err
	}
	groups, err := v.groups()
	if err != nil {
		return nil, err
	}
	if at := slices.IndexFunc(groups, func(g api.Group) bool { return g.IsDefault }); at > 0 {
		first := options[at]
		options = slices.Insert(slices.Delete(options, at, at+1), 0, first)
	}
	return options, nil
}

// tagChoices returns the program's tags as options.
func (v *visit) tagChoices() ([]site.Option, error) {
	return optionsOf(v.tags, func(t api.Tag) site.Option { return site.Option{Value: t.ID, Label: t.Name} })
}

// couponChoices returns the program's coupons as options.
func (v *visit) couponChoices() ([]site.Option, error) {
	return optionsOf(v.coupons, func(c api.Coupon) site.Option { return site.Option{Value: c.ID, Label: c.Code} })
}

// optionsOf returns a list as options.
func optionsOf[T any](list func() ([]T, error), option func(T) site.Option) ([]site.Option, error) {
	all, err := list()
	var out []site.Option
	for _, one := range all {
		out = append(out, option(one))
	}
	return out, err
}

// choices returns the program's groups and tags as options.
func (v *visit) choices() (groups, tags []site.Option, err error) {
	if groups, err = v.groupChoices(); err != nil {
		return nil, nil, err
	}
	tags, err = v.tagChoices()
	return groups, tags, err
}

func partnersTable(v *visit) error {
	query := v.query(partnerFilters...)
	query.Set("program_id", v.program.ID)
	if since := v.quietSince(); since != nil {
		query.Set("no_click_since", *since)
	}
	query["include[]"], query["expand[]"] = []string{"stats", "tags"}, []string{"group"}
	return v.chosenFile("listPartners", "partners", query, partnerColumns)
}

// groupName is the name of the group that was asked for with a partner; "" for none.
func groupName(g nullable.Nullable[api.Group]) string {
	group, err := g.Get()
	if err != nil {
		return ""
	}
	return group.Name
}

// newPartner shows the form that adds a partner.
func newPartner(v *visit) error {
	groups, err := v.groupsDefaultFirst()
	if err != nil {
		return err
	}
	return v.show(sheet{"partner-new", "/partners", "Add a partner", groups})
}

// createPartner adds a partner, and leads to its page.
func createPartner(v *visit) error {
	var partner api.Partner
	if err := v.send("createPartner", v.body("createPartner"), &partner); err != nil {
		return v.again(err, newPartner)
	}
	return v.done(v.at("/partners/"+partner.ID), nameOf(partner)+" is a partner now.")
}
