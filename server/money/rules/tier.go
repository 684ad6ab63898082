package rules

import (
	"encoding/json"
	"slices"
)

// Tier is a rate that a partner earns from a number of customers on.
type Tier struct {
	Rate
	Customers int64
}

// NextTier returns the next better rate of a partner with a number of customers, for a flow whose branches depend on
// this number alone; false if there is none, or if other conditions decide too. Rates of different types do not compare.
func NextTier(own Rate, branches json.RawMessage, customers int64) (Tier, bool) {
	var cases []struct {
		Rate
		Conditions json.RawMessage `json:"conditions"`
	}
	if json.Unmarshal(branches, &cases) != nil {
		return Tier{}, false
	}
	tiers := make([]Tier, len(cases))
	for i, b := range cases {
		from, ok := customersFrom(b.Conditions)
		if !ok {
			return Tier{}, false
		}
		tiers[i] = Tier{b.Rate, from}
	}
	rate := func(n int64) Rate { // the first branch that matches counts
		at := slices.IndexFunc(tiers, func(t Tier) bool { return n >= t.Customers })
		if at < 0 {
			return own
		}
		return tiers[at].Rate
	}
	now, next := rate(customers), Tier{}
	for _, t := range tiers {
		at := Tier{rate(t.Customers), t.Customers}
		better := at.RateType == now.RateType && at.RateValue > now.RateValue
		if t.Customers > customers && better && (next.Customers == 0 || t.Customers < next.Customers) {
			next = at
		}
	}
	return next, next.Customers > 0
}

// customersFrom returns the number of customers from which conditions match; false for conditions of another form.
func customersFrom(raw json.RawMessage) (int64, bool) {
	parsed, wrong := ParseConditions(raw, NewPayment)
	if wrong != nil || len(parsed.items) != 1 {
		return 0, false
	}
	l, ok := parsed.items[0].(leaf)
	if !ok || l.field.name != "partner.customers_count" || len(l.numbers) != 1 {
		return 0, false
	}
	switch l.op {
	case opGte:
		return l.numbers[0], true
	case opGt:
		return l.numbers[0] + 1, true
	}
	return 0, false
}
