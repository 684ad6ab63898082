package join

import (
	"rail/gen/db"
	"rail/server/money/rules"
	"rail/server/opt"
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
	var out []string
	for _, trigger := range []db.FlowTrigger{db.FlowTriggerNewPayment, db.FlowTriggerNewSignup} {
		said, err := v.pays(trigger, group)
		if err != nil {
			return nil, err
		}
		out = append(out, said...)
	}
	switch {
	case v.program.CommissionNetOfFee:
		out = append(out, v.Locale.T("Payments count without tax and without the processor’s fee."))
	case v.program.CommissionOnNetRevenue:
		out = append(out, v.Locale.T("Payments count without tax."))
	}
	out = append(out,
		v.Locale.T("%d-day cookie: you get credit for purchases within %[1]d days of a click.", v.program.CookieDays))
	if days := v.program.HoldingPeriodDays; days > 0 {
		out = append(out, v.Locale.T("Commissions are held for %d days in case of refunds.", days))
	}
	return append(out, v.Locale.T("Payouts are sent %d days after the end of the month.", termDays[v.program.PayoutTerm])), nil
}

// termDays are the days of a payout term.
var termDays = map[db.PayoutTerm]int64{db.PayoutTermNet15: 15, db.PayoutTermNet30: 30, db.PayoutTermNet60: 60}

// pays describes the rate of the first flow that matches the group.
func (v *visit) pays(trigger db.FlowTrigger, group *string) ([]string, error) {
	list, err := queries.FlowsActive(v.Ctx(), v.pages.Pool, db.FlowsActiveParams{
		ProgramID: v.program.ID, OrgID: v.program.OrgID, Trigger: trigger,
	})
	if err != nil {
		return nil, err
	}
	for _, f := range list {
		if f.Action == db.FlowActionGenerateCommission && f.PartnerID == nil && (f.GroupID == nil || *f.GroupID == *group) {
			return v.cases(f)
		}
	}
	return nil, nil
}

// cases describes a flow's rate and its exceptions.
func (v *visit) cases(f db.Flow) ([]string, error) {
	return rules.Speaker{
		Trigger: f.Trigger, Currency: v.program.Currency, Locale: v.Locale, ToPartner: true, Public: true,
	}.Terms(rules.Rate{RateType: opt.Value(f.RateType), RateValue: opt.Value(f.RateValue)}, f.Branches)
}
