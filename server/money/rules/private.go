package rules

import (
	"encoding/json"
	"errors"
	"slices"
)

// errPrivate marks conditions that must not be public, and errUnnamed those with ids that mean nothing to a partner.
var (
	errPrivate = errors.New("rules: this condition is not public")
	errUnnamed = errors.New("rules: this condition has only an id")
)

// unnamed reports whether a field has the program's own ids and keys.
func unnamed(f *field) bool {
	return f.key != "" || f.name == "customer.identifier" || f.name == "customer.link_id"
}

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
	forms, ok := ages[f.name]
	if !ok || json.Unmarshal(raw, &n) != nil {
		return ""
	}
	switch op { // values are whole: more than eleven means at least twelve
	case opLt:
		return s.locale().T(forms[0], n)
	case opLte:
		return s.locale().T(forms[0], n+1)
	case opGte:
		return s.locale().T(forms[1], n)
	case opGt:
		return s.locale().T(forms[1], n+1)
	}
	return ""
}
