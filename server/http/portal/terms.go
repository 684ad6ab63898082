package portal

import (
	"cmp"
	"slices"

	"rail/gen/db"
	"rail/server/http/site"
	"rail/server/money/payout"
	"rail/server/money/rules"
	"rail/server/opt"
	"rail/server/program/flow"
	"rail/server/program/portalsettings"
)

// terms describe the partner's rates: a sentence for each rate of the flow for payments, the same for sign-ups, and
// the general terms.
func (v *visit) terms() (says, conditions []string, err error) {
	for _, trigger := range []rules.Trigger{rules.NewPayment, rules.NewSignup} {
		f, err := v.deciding(trigger)
		if err != nil {
			return nil, nil, err
		}
		own, err := v.ownTerms(trigger, f)
		if err != nil {
			return nil, nil, err
		}
		if len(own) > 0 { // the program's own text replaces the rates
			says = own
			break
		}
		if f == nil {
			continue
		}
		some, err := v.termsOf(*f)
		if err != nil {
			return nil, nil, err
		}
		says = append(says, some...)
	}
	switch {
	case len(says) == 0:
		return nil, nil, nil
	case v.program.CommissionNetOfFee:
		conditions = append(conditions, v.Locale.T("Commissions are calculated before tax, without the processor’s fee."))
	case v.program.CommissionOnNetRevenue:
		conditions = append(conditions, v.Locale.T("Commissions are calculated before tax."))
	}
	if days := v.program.HoldingPeriodDays; days > 0 {
		conditions = append(conditions, v.Locale.T("Commissions become payable %d days after the sale.", days))
	}
	if least := payout.Minimum(v.program, v.partner); least > 0 {
		conditions = append(conditions,
			v.Locale.T("%s payouts start at %s.", v.program.Currency, v.Locale.Money(least, v.program.Currency)))
	}
	return says, conditions, nil
}

// ownTerms returns the program's own text about the rates for all partners, if the flow for payments is for all.
func (v *visit) ownTerms(trigger rules.Trigger, f *db.Flow) ([]string, error) {
	if trigger != rules.NewPayment || f != nil && (f.GroupID != nil || f.PartnerID != nil) {
		return nil, nil
	}
	s, err := portalsettings.Of(v.Ctx(), v.portal.Pool, v.partner.OrgID, v.program.ID)
	if err != nil || s.Offer == nil {
		return nil, err
	}
	return site.Paragraphs(*s.Offer), nil
}

// deciding is the flow that pays the partner for a trigger; nil if there is none.
func (v *visit) deciding(trigger rules.Trigger) (*db.Flow, error) {
	found, err := v.flows(trigger)
	return v.decidingOf(found, v.partner.GroupID), err
}

// flows returns the program's active flows for a trigger, in order.
func (v *visit) flows(trigger rules.Trigger) ([]db.Flow, error) {
	return queries.FlowsActive(v.Ctx(), v.portal.Pool, db.FlowsActiveParams{
		ProgramID: v.program.ID, OrgID: v.partner.OrgID, Trigger: trigger,
	})
}

// decidingOf is the flow that pays the partner in a group: the first in order whose scope fits (decisions,
// 134); nil if none does.
func (v *visit) decidingOf(flows []db.Flow, groupID *string) *db.Flow {
	at := slices.IndexFunc(flows, func(f db.Flow) bool {
		return f.Action == rules.GenerateCommission && v.scoped(f, groupID)
	})
	if at < 0 {
		return nil
	}
	return &flows[at]
}

// scoped reports whether a flow's scope includes the partner in a group.
func (v *visit) scoped(f db.Flow, groupID *string) bool {
	return rules.Applies(rules.Flow{GroupID: f.GroupID, PartnerID: f.PartnerID}, v.partner.ID, groupID)
}

// termsOf puts a flow into sentences.
func (v *visit) termsOf(f db.Flow) ([]string, error) {
	name, err := v.namer()
	if err != nil {
		return nil, err
	}
	product, err := flow.Products(v.Ctx(), v.portal.Pool, f)
	if err != nil {
		return nil, err
	}
	return rules.Speaker{
		Trigger: f.Trigger, Currency: v.program.Currency, Locale: v.Locale, ToPartner: true, Name: name, Product: product,
	}.Terms(rules.Rate{RateType: opt.Value(f.RateType), RateValue: opt.Value(f.RateValue)}, f.Branches)
}

// namer names what conditions may say to the partner: their own group, and their coupons.
func (v *visit) namer() (func(id string) string, error) {
	names := map[string]string{v.partner.ID: v.partner.Handle}
	if v.partner.GroupID != nil {
		of := db.GroupGetParams{ID: *v.partner.GroupID, OrgID: v.partner.OrgID}
		group, err := queries.GroupGet(v.Ctx(), v.portal.Pool, of)
		if err != nil {
			return nil, err
		}
		names[group.ID] = group.Name
	}
	coupons, err := v.coupons()
	for _, c := range coupons {
		names[c.ID] = c.Code
	}
	return func(id string) string { return cmp.Or(names[id], v.Locale.T("another one")) }, err
}
