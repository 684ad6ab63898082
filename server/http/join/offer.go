package join

import (
	"encoding/json"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/money/rules"
	"rail/server/opt"
)

// offer says what partners of the group earn, and when they are paid.
func (v *visit) offer() ([]string, error) {
	group := v.groupID()
	if group == nil { // whoever names no group enters the default one
		g, err := queries.GroupDefault(v.ctx(), v.pages.Pool, db.GroupDefaultParams{
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
	out = append(out, v.locale.T("Visitors count as yours for %d days after they followed your link.", v.program.CookieDays))
	if days := v.program.HoldingPeriodDays; days > 0 {
		out = append(out, v.locale.T("What you earn is held for %d days, in case that a payment is taken back.", days))
	}
	return append(out, v.locale.T("Payouts are sent %d days after the end of the month.", termDays[v.program.PayoutTerm])), nil
}

// termDays are the days of a payout term.
var termDays = map[db.PayoutTerm]int64{db.PayoutTermNet15: 15, db.PayoutTermNet30: 30, db.PayoutTermNet60: 60}

// pays says what the first flow that fits the group pays, which alone decides.
func (v *visit) pays(trigger db.FlowTrigger, group *string) ([]string, error) {
	list, err := queries.FlowsActive(v.ctx(), v.pages.Pool, db.FlowsActiveParams{
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

// cases says what a flow pays, and in which cases it pays something else.
func (v *visit) cases(f db.Flow) ([]string, error) {
	var branches []api.FlowBranch
	if err := json.Unmarshal(f.Branches, &branches); err != nil {
		return nil, err
	}
	var out []string
	if opt.Value(f.RateValue) > 0 {
		out = append(out, v.rate(f.Trigger, *f.RateType, *f.RateValue))
	}
	speaker := rules.Speaker{Trigger: f.Trigger, Currency: v.program.Currency}
	for _, b := range branches {
		when, err := speaker.Conditions(b.Conditions)
		if err != nil {
			return nil, err
		}
		pays := v.rate(f.Trigger, db.RateType(b.RateType), b.RateValue)
		if v.locale.Language() == "en" && when != "" { // conditions are in English
			out = append(out, v.locale.T("If %s: %s", when, pays))
			continue
		}
		out = append(out, v.locale.T("In certain cases: %s", pays))
	}
	return out, nil
}

// rate says what a rate pays.
func (v *visit) rate(trigger db.FlowTrigger, kind db.RateType, value int64) string {
	signup := trigger == db.FlowTriggerNewSignup
	switch {
	case kind == db.RateTypePercent:
		return v.locale.T("You earn %s of every payment.", v.locale.Percent(value))
	case signup:
		return v.locale.T("You earn %s for every sign-up.", v.locale.Money(value, v.program.Currency))
	}
	return v.locale.T("You earn %s for every payment.", v.locale.Money(value, v.program.Currency))
}
