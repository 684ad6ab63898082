package rules

import (
	"encoding/json"
	"errors"
	"slices"
)

// Terms say what a flow pays, for those whom it pays: its own rate, and its branches, a list in
// JSON of which the first that fits counts.
func (s Speaker) Terms(own Rate, branches json.RawMessage) ([]string, error) {
	var cases []struct {
		Conditions json.RawMessage
		RateType   RateType `json:"rate_type"`
		RateValue  int64    `json:"rate_value"`
	}
	if err := json.Unmarshal(branches, &cases); err != nil {
		return nil, err
	}
	l := s.locale()
	var says []string
	for _, b := range cases {
		rate := Rate{RateType: b.RateType, RateValue: b.RateValue}
		when, err := s.Conditions(b.Conditions)
		if errors.Is(err, errInside) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if when == "" { // what follows is never asked
			own = rate
			break
		}
		says = append(says, l.T("But %s, if %s.", rate.In(l, s.Trigger, s.Currency), when))
		if own.RateValue == 0 && len(says) == 1 { // a flow that pays in some cases only
			says[0] = l.T("You earn %s, if %s.", rate.In(l, s.Trigger, s.Currency), when)
		}
	}
	if own.RateValue == 0 && len(says) > 0 {
		return says, nil
	}
	return append([]string{l.T("You earn %s.", own.In(l, s.Trigger, s.Currency))}, says...), nil
}

// errInside is that of conditions which not everybody is to read.
var errInside = errors.New("rules: this is not for everybody")

// inside reports whether a field is of single partners, or has names that are the program's own.
func inside(f *field) bool {
	return f.key != "" || slices.Contains([]string{
		"partner.id", "partner.group_id", "partner.tag_ids", "customer.coupon_id", "customer.link_id", "customer.identifier",
	}, f.name)
}

// ages are the fields that say how long ago a customer first paid, with their sentences: less
// than so long ago, and at least.
var ages = map[string][2]string{
	"customer.months_since_conversion": {
		"the customer’s first payment was less than %d months ago",
		"the customer’s first payment was at least %d months ago",
	},
	"customer.days_since_conversion": {
		"the customer’s first payment was less than %d days ago",
		"the customer’s first payment was at least %d days ago",
	},
}

// age says a condition on how long ago a customer first paid; "" where it is of another kind.
func (s Speaker) age(f *field, op operator, raw json.RawMessage) string {
	var n int64
	said, known := ages[f.name]
	if !known || json.Unmarshal(raw, &n) != nil {
		return ""
	}
	switch op { // whole months and days: more than eleven are at least twelve
	case opLt:
		return s.locale().T(said[0], n)
	case opLte:
		return s.locale().T(said[0], n+1)
	case opGte:
		return s.locale().T(said[1], n)
	case opGt:
		return s.locale().T(said[1], n+1)
	}
	return ""
}
