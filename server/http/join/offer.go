package join

import (
	"slices"

	"rail/gen/db"
	"rail/server/http/site"
	"rail/server/money/rules"
	"rail/server/opt"
	"rail/server/program/flow"
)

// offer returns the rates of the group's partners and the time of payouts.
func (v *visit) offer() ([]string, error) {
	group := v.groupID()
	if group == nil { // without a group, partners join the default one
		g, err := queries.GroupDefault(v.Ctx(), v.pages.Pool, db.GroupDefaultParams{
			ProgramID: v.program.ID, OrgID: v.program.OrgID,
		})
		if err != nil {
			return nil, err
		}
		group = &g.ID
	}
	out, err := v.rates(*group)
	if err != nil {
		return nil, err
	}
	switch {
	case v.program.CommissionNetOfFee:
		out = append(out, v.Locale.T("Commissions are calculated before tax, without the processor’s fee."))
	case v.program.CommissionOnNetRevenue:
		out = append(out, v.Locale.T("Commissions are calculated before tax."))
	}
	out = append(out,
		v.Locale.T("%d-day cookie: you get credit for purchases within %[1]d days of a click.", v.program.CookieDays))
	if days := v.program.HoldingPeriodDays; days > 0 {
		out = append(out, v.Locale.T("Commissions are held for %d days in case of refunds.", days))
	}
	if least := v.program.MinPayoutMinor; least > 0 {
		out = append(out, v.Locale.T("%s payouts start at %s.", v.program.Currency, v.Locale.Money(least, v.program.Currency)))
	}
	return append(out, v.Locale.T("Payouts are sent %d days after the end of each month.", termDays[v.program.PayoutTerm])), nil
}

// termDays are the days of a payout term.
var termDays = map[db.PayoutTerm]int64{db.PayoutTermNet15: 15, db.PayoutTermNet30: 30, db.PayoutTermNet60: 60}

// rates describes the rates of the group's partners. The program's own text replaces those for all partners.
func (v *visit) rates(group string) ([]string, error) {
	var out []string
	for _, trigger := range []db.FlowTrigger{db.FlowTriggerNewPayment, db.FlowTriggerNewSignup} {
		f, err := v.deciding(trigger, group)
		if err != nil {
			return nil, err
		}
		if trigger == db.FlowTriggerNewPayment && v.settings.Offer != nil && (f == nil || f.GroupID == nil) {
			return site.Paragraphs(*v.settings.Offer), nil
		}
		if f == nil {
			continue
		}
		says, err := v.cases(*f)
		if err != nil {
			return nil, err
		}
		out = append(out, says...)
	}
	return out, nil
}

// deciding returns the flow that pays the group's partners for a trigger; nil for none.
func (v *visit) deciding(trigger db.FlowTrigger, group string) (*db.Flow, error) {
	list, err := queries.FlowsActive(v.Ctx(), v.pages.Pool, db.FlowsActiveParams{
		ProgramID: v.program.ID, OrgID: v.program.OrgID, Trigger: trigger,
	})
	at := slices.IndexFunc(list, func(f db.Flow) bool {
		return f.Action == db.FlowActionGenerateCommission && f.PartnerID == nil && (f.GroupID == nil || *f.GroupID == group)
	})
	if err != nil || at < 0 {
		return nil, err
	}
	return &list[at], nil
}

// cases describes a flow's rate and its exceptions.
func (v *visit) cases(f db.Flow) ([]string, error) {
	product, err := flow.Products(v.Ctx(), v.pages.Pool, f)
	if err != nil {
		return nil, err
	}
	return rules.Speaker{
		Trigger: f.Trigger, Currency: v.program.Currency, Locale: v.Locale, ToPartner: true, Public: true, Product: product,
	}.Terms(rules.Rate{RateType: opt.Value(f.RateType), RateValue: opt.Value(f.RateValue)}, f.Branches)
}
