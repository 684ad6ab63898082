package rules

import (
	"encoding/json"
	"slices"

	"rail/gen/db"
)

// Tier is a rate that a partner earns from a number of customers on.
type Tier struct {
	Rate
	Customers int64
}

// NextTier returns the next better rate of a partner with a number of customers, for a flow whose branches depend on
// this number alone; false if there is none, or if other conditions decide too. Rates of different types do not
// compare.
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

// Best returns the highest rate of a flow, zero if its rates are of different types, which do not compare.
func Best(own Rate, branches json.RawMessage) Rate {
	var cases []Rate
	if json.Unmarshal(branches, &cases) != nil {
		return Rate{}
	}
	for _, r := range cases {
		switch {
		case r.RateValue == 0:
		case own.RateValue != 0 && r.RateType != own.RateType:
			return Rate{}
		case r.RateValue > own.RateValue:
			own = r
		}
	}
	return own
}

// Better reports whether a rate is higher than another of the same type, or than none.
func Better(a, b Rate) bool {
	return a.RateValue > b.RateValue && (b.RateValue == 0 || a.RateType == b.RateType)
}

// Move is a change of group from a number of customers on.
type Move struct {
	GroupID   string
	Customers int64
}

// NextMove returns the next group of a partner with a number of customers. moves are all flows, in order, that can move
// the partner out of its group. It returns false if there is no other group, or if anything but the number of customers
// decides.
func NextMove(moves []db.Flow, groupID *string, customers int64) (Move, bool) {
	steps := make([]Move, len(moves))
	for i, f := range moves {
		from, ok := movesFrom(f)
		if !ok {
			return Move{}, false
		}
		steps[i] = Move{*f.TargetGroupID, from}
	}
	leaves := func(n int64) (Move, bool) { // the first flow that fires decides, even if it leads to the same group
		at := slices.IndexFunc(steps, func(m Move) bool { return n >= m.Customers })
		if at < 0 || groupID != nil && steps[at].GroupID == *groupID {
			return Move{}, false
		}
		return Move{steps[at].GroupID, n}, true
	}
	if _, now := leaves(customers); now { // the next payment moves the partner
		return Move{}, false
	}
	var next []int64
	for _, m := range steps {
		if m.Customers > customers {
			next = append(next, m.Customers)
		}
	}
	slices.Sort(next)
	for _, n := range next {
		if to, ok := leaves(n); ok {
			return to, true
		}
	}
	return Move{}, false
}

// movesFrom returns the number of customers from which a flow moves a partner; false if anything else decides, such as
// a sign-up.
func movesFrom(f db.Flow) (int64, bool) {
	var cases []struct {
		Conditions json.RawMessage `json:"conditions"`
	}
	if f.Trigger != NewPayment || f.TargetGroupID == nil || json.Unmarshal(f.Branches, &cases) != nil {
		return 0, false
	}
	var least int64
	for i, b := range cases {
		from, ok := customersFrom(b.Conditions)
		if !ok {
			return 0, false
		}
		if i == 0 || from < least {
			least = from
		}
	}
	return least, true
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
