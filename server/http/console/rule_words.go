package console

import (
	"net/http"

	"rail/gen/api"
	"rail/server/clock"
	"rail/server/locale/currency"
	"rail/server/money/rules"
	"rail/server/opt"
)

// ruleWords describes a rule as it is typed: a sentence, and the commissions of a payment.
type ruleWords struct {
	rule

	Missing  string // why there is no sentence yet
	Examples []example
	Amount   string // of the payment in the examples
}

// example is the commission of a payment under the rule, or under one of its exceptions.
type example struct{ When, Pays string }

// exampleAmount is the payment of the examples, in the currency's own unit.
const exampleAmount = "100"

// describeTyped answers the form's script with the rule in words.
func describeTyped(v *visit) error {
	words, err := v.ruleInWords(readRule(v.Form, "", v.program.Currency))
	if err != nil {
		return err
	}
	return pages.Write(v, v.Locale, http.StatusOK, "rule-words", words)
}

// ruleInWords describes a rule as it is typed.
func (v *visit) ruleInWords(form ruleForm) (ruleWords, error) {
	update, err := form.update()
	if p, ok := refused(err); ok {
		return ruleWords{Missing: p.Message}, nil
	}
	if err != nil {
		return ruleWords{}, err
	}
	if form.unfinished() {
		return ruleWords{Missing: "Fill in every condition."}, nil
	}
	name := &names{visit: v, expanded: map[string]string{form.PartnerID: form.Partner}}
	flow := typedFlow(update)
	if form.Whom == forPartner {
		flow.PartnerID = &form.PartnerID
	}
	described, err := v.describeRule(flow, name)
	if err != nil { // such as a key of metadata that cannot be one
		return ruleWords{Missing: "Check the conditions."}, name.err
	}
	minor, _ := currency.Minor(exampleAmount, form.currency)
	out := ruleWords{rule: described, Amount: v.Locale.Money(minor, form.currency)}
	if form.moves() || !form.pays() {
		return out, name.err
	}
	for i, b := range flow.Branches {
		out.Examples = append(out.Examples, example{
			When: described.Cases[i].title(), Pays: v.Locale.Money(commissionOf(b.RateType, b.RateValue, minor), form.currency),
		})
	}
	rest := "Every payment"
	if len(out.Examples) > 0 {
		rest = "Everything else"
	}
	out.Examples = append(out.Examples, example{
		When: rest, Pays: v.Locale.Money(commissionOf(*flow.RateType, opt.Value(flow.RateValue), minor), form.currency),
	})
	return out, name.err
}

// unfinished reports whether a condition lacks its value.
func (f ruleForm) unfinished() bool {
	for _, c := range f.Cases {
		for _, r := range c.Rows {
			if r.Kept == "" && r.Op != "exists" && r.Op != "absent" && r.Value == "" && len(r.Values) == 0 {
				return true
			}
		}
	}
	return false
}

// commissionOf returns the commission of a payment in the program's currency.
func commissionOf(rateType api.RateType, rate, payment int64) int64 {
	if rateType == api.RateTypePercent {
		return rules.Percent(payment, rate)
	}
	return rate
}

// typedFlow returns a change as a flow, to describe it.
func typedFlow(f api.FlowUpdate) api.Flow {
	out := api.Flow{
		Name: opt.Value(f.Name), Trigger: *f.Trigger, Action: *f.Action, Status: *f.Status,
		GroupID: valueOrNil(f.GroupID), PartnerID: valueOrNil(f.PartnerID), TargetGroupID: valueOrNil(f.TargetGroupID),
		RateType: (*api.RateType)(valueOrNil(f.RateType)), RateValue: valueOrNil(f.RateValue), CreatedAt: clock.Time{},
	}
	for _, b := range f.Branches {
		out.Branches = append(out.Branches, api.FlowBranch{
			Label: b.Label, Conditions: b.Conditions, RateType: b.RateType, RateValue: b.RateValue,
		})
	}
	return out
}
