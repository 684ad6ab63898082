package rules

import (
	"encoding/json"
	"errors"
	"slices"
)

// Terms describes a flow's rates for the partners that it pays: its own rate, and its branches, a JSON list of
// which the first match counts.
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
		if errors.Is(err, errPrivate) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if when == "" { // later branches are never reached
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

// errPrivate marks conditions that must not be public.
var errPrivate = errors.New("rules: this condition is not public")

// private reports whether a field identifies single partners, or uses the program's internal names.
func private(f *field) bool {
	return f.key != "" || slices.Contains([]string{
		"partner.id", "partner.group_id", "partner.tag_ids", "customer.coupon_id", "customer.link_id", "customer.identifier",
	}, f.name)
}

// ages are the fields for the time since a customer's first payment, with sentences for less than and at least.
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

// age returns the sentence for a condition on the time since a customer's first payment, "" for other
// conditions.
func (s Speaker) age(f *field, op operator, raw json.RawMessage) string {
	var n int64
	said, known := ages[f.name]
	if !known || json.Unmarshal(raw, &n) != nil {
		return ""
	}
	switch op { // values are whole: more than eleven means at least twelve
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
