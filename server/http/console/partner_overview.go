package console

import (
	"cmp"
	"slices"
	"time"

	"rail/gen/api"
	"rail/server/http/site"
	"rail/server/money/rules"
	"rail/server/opt"
	"rail/server/program/tracking"
)

// partnerHeader is the header of a partner's overview.
type partnerHeader struct {
	Company, Country, Website string // "" for none
	Link                      string // the partner's own link
	Rate                      string // of the partner's sales, in words
	Rule                      string // the id of that rule; "" for none
}

// fillOverview reads the figures, the balances, the rate and the options of the forms.
func (v *visit) fillOverview(data *partnerData) (err error) {
	p := data.Partner
	if data.Header, err = v.partnerHeader(p); err != nil {
		return err
	}
	if data.Groups, data.Tags, err = v.choices(); err != nil {
		return err
	}
	data.Groups = withGroup(data.Groups, p)
	balances, err := v.console.api.ListBalancesWithResponse(v.Ctx(),
		&api.ListBalancesParams{ProgramID: v.program.ID, PartnerID: &p.ID})
	if err != nil {
		return err
	}
	data.Balances = balances.JSON200.Data
	if data.Tiles, err = v.partnerTiles(p); err != nil || p.Status != api.PartnerStatusPending {
		return err
	}
	open, err := v.console.api.ListApplicationsWithResponse(v.Ctx(), &api.ListApplicationsParams{
		ProgramID: v.program.ID, PartnerID: &p.ID, Status: []api.ApplicationStatus{api.ApplicationStatusPending},
	})
	if err == nil && len(open.JSON200.Data) > 0 {
		data.Applied = &open.JSON200.Data[0]
	}
	return err
}

// withGroup adds the partner's group to the options if it is missing, or an empty option for a partner without one.
// Otherwise a browser would select the first option, and saving would move the partner.
func withGroup(groups []site.Option, p api.Partner) []site.Option {
	id := opt.Value(p.GroupID)
	if slices.ContainsFunc(groups, func(o site.Option) bool { return o.Value == id }) {
		return groups
	}
	if id == "" {
		return noneFirst("No group", groups)
	}
	return append(groups, site.Option{Value: id, Label: cmp.Or(groupName(p.Group), id)})
}

// partnerHeader describes a partner.
func (v *visit) partnerHeader(p api.Partner) (h partnerHeader, err error) {
	h = partnerHeader{Company: opt.Value(p.CompanyName), Website: opt.Value(p.WebsiteURL)}
	h.Link = tracking.PartnerURL(v.program, embedded(p.Group).LandingURL, p.Handle)
	if p.CountryCode != nil {
		h.Country = v.Locale.Country(*p.CountryCode)
	}
	list, err := v.flows()
	if err != nil {
		return h, err
	}
	h.Rate = "No rule pays a commission"
	for _, f := range list {
		if !paysPartner(f, p) {
			continue
		}
		described, err := v.describeRule(f, v.ruleNames(list))
		if err != nil {
			return h, err
		}
		h.Rate, h.Rule = described.Says, f.ID
		if n := len(described.Cases); n > 0 {
			h.Rate += " (with exceptions)"
		}
		break
	}
	return h, nil
}

// paysPartner reports whether a rule pays a partner a commission for sales. The first such rule counts.
func paysPartner(f api.Flow, p api.Partner) bool {
	return f.Status == api.FlowStatusActive && f.Trigger == api.FlowTriggerNewPayment &&
		f.Action == api.FlowActionGenerateCommission &&
		rules.Applies(rules.Flow{GroupID: f.GroupID, PartnerID: f.PartnerID}, p.ID, p.GroupID)
}

// partnerTiles are the figures of a partner, with the course of twelve months.
func (v *visit) partnerTiles(p api.Partner) ([]site.Tile, error) {
	to := v.Today()
	over, err := v.reportOf(api.RetrieveReportParams{
		PartnerID:   &p.ID,
		Dimension:   new(api.ReportDimensionPeriod),
		Granularity: new(api.ReportGranularityMonth),
		From:        new(to.AddDate(0, -11, 1-to.Day()).Format(time.DateOnly)),
		To:          new(to.Format(time.DateOnly)),
		Currency:    &v.program.Currency,
		Compare:     new(api.ReportCompareNone),
	})
	if err != nil {
		return nil, err
	}
	s := opt.Value(p.Stats)
	tile := func(name string, m measure, total int64) site.Tile {
		t := v.figureTile(over, name, m)
		t.Text, t.Exact = v.brief(m, v.program.Currency)(total), ""
		if m.money {
			t.Exact = v.Locale.Money(total, v.program.Currency)
		}
		return t
	}
	return []site.Tile{
		v.figureTile(over, "Revenue, 12 months", measures[0]),
		tile("Commissions", measures[1], s.CommissionsMinor),
		tile("Clicks", measures[2], s.Clicks),
		tile("Customers", measures[3], s.Customers),
	}, nil
}
