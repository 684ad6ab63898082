package rules

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"rail/server/locale"
)

// Descriptions of rules for people. Amounts are in the program's currency.

// Words describes a rate, for each payment or each sign-up, in English.
func (r Rate) Words(trigger Trigger, code string) string { return r.In(locale.English, trigger, code) }

// In is Words in the locale l.
func (r Rate) In(l *locale.Locale, trigger Trigger, code string) string {
	switch {
	case r.RateValue == 0:
		return l.T("nothing")
	case r.RateType == RatePercent:
		return l.T("%s of every payment", l.Percent(r.RateValue))
	case trigger == NewSignup:
		return l.T("%s for every sign-up", l.Money(r.RateValue, code))
	}
	return l.T("%s for every payment", l.Money(r.RateValue, code))
}

// phrases are the fields as the subject of a sentence. Boolean and date fields are complete sentences.
var phrases = map[string]string{
	"sale.amount_minor": "the amount", "sale.net_amount_minor": "the amount without tax",
	"sale.currency": "the currency", "sale.product_id": "the product", "sale.product_name": "the product’s name",
	"sale.billing_type": "the kind of payment", "sale.interval": "the billing interval",
	"sale.is_first_sale":               "the customer’s first payment",
	"customer.sales_count":             "the number of the customer’s payments",
	"customer.total_paid_minor":        "what the customer has paid in all",
	"customer.months_since_conversion": "the number of months since the customer’s first payment",
	"customer.days_since_conversion":   "the number of days since the customer’s first payment",
	"customer.days_since_lead":         "the number of days since the customer signed up",
	"customer.converted_at":            "the day of the customer’s first payment",
	"customer.lead_at":                 "the day on which the customer signed up",
	"customer.country":                 "the customer’s country", "customer.tracked_by": "what brought the customer",
	"customer.coupon_id": "the coupon", "customer.link_id": "the link",
	"customer.identifier": "your id of the customer", "partner.id": "the partner",
	"partner.group_id": "the partner’s group", "partner.tag_ids": "the partner’s tag",
	"partner.country_code":      "the partner’s country",
	"partner.leads_count":       "the number of people whom the partner brought",
	"partner.customers_count":   "the number of the partner’s customers who paid",
	"partner.sales_count":       "the number of the partner’s sales",
	"partner.revenue_minor":     "the partner’s revenue in all",
	"partner.commissions_minor": "the partner’s commissions in all",
}

// partnerPhrases replace phrases when the reader is a partner.
var partnerPhrases = map[string]string{
	"customer.identifier": "the program’s id of the customer", "partner.id": "your id", "partner.group_id": "your group",
	"partner.tag_ids": "your tag", "partner.country_code": "your country",
	"partner.leads_count":       "the number of people whom you brought",
	"partner.customers_count":   "the number of your customers who paid",
	"partner.sales_count":       "the number of your sales",
	"partner.revenue_minor":     "your revenue in all",
	"partner.commissions_minor": "your commissions in all",
}

// choices are the names of enum values.
var choices = map[string]string{
	"one_time": "one time", "subscription": "subscription", "day": "day", "week": "week", "month": "month",
	"year": "year", "link": "link", "coupon": "coupon", "manual": "manual", "api": "api", "agent": "AI assistant",
}

// sentences are the operators as sentences with a subject and a value; sentencesOfDays replaces some for days.
var (
	sentences = map[operator]string{
		opEq: "%s is %s", opNeq: "%s is not %s", opGt: "%s is more than %s", opGte: "%s is at least %s",
		opLt: "%s is less than %s", opLte: "%s is at most %s", opIn: "%s is one of %s", opNotIn: "%s is none of %s",
		opContains: "%s contains %s", opStartsWith: "%s begins with %s", opEndsWith: "%s ends with %s",
		opExists: "%s is known",
	}
	sentencesOfDays = map[operator]string{
		opGt: "%s is after %s", opGte: "%s is not before %s", opLt: "%s is before %s", opLte: "%s is not after %s",
	}
)

// FieldWords describes a field for a form that builds conditions.
type FieldWords struct {
	Name, Words string
	Kind        string // bool, choice, text, number, money, date or metadata
	Choices     []string
	Operators   []OperatorWords
}

// OperatorWords is an operator of a field.
type OperatorWords struct{ Name, Words string }

// kindWords are the names of kinds in forms.
var kindWords = map[kind]string{
	kindBool: "bool", kindEnum: "choice", kindCurrency: "text", kindCountry: "text", kindID: "choice", kindIDSet: "choice",
	kindText: "text", kindInt: "number", kindMoney: "money", kindDate: "date", kindScalar: "metadata",
}

// FieldsIn lists the fields of a trigger in order, without metadata, which has any key.
func FieldsIn(trigger Trigger) []FieldWords {
	var out []FieldWords
	for i := range fields {
		if f := &fields[i]; f.signup || trigger != NewSignup {
			out = append(out, f.words())
		}
	}
	return out
}

// FieldNamed returns a field by name, also of metadata.
func FieldNamed(name string, trigger Trigger) (FieldWords, bool) {
	f, wrong := fieldOf(name, trigger)
	if wrong != "" {
		return FieldWords{}, false
	}
	return f.words(), true
}

// words returns the field's description.
func (f *field) words() FieldWords {
	out := FieldWords{Name: f.name, Words: Speaker{}.phrase(f), Kind: kindWords[f.kind], Choices: f.values}
	for _, op := range operators[f.kind] {
		verb := strings.TrimSuffix(strings.TrimPrefix(f.sentence(op), "%s "), " %s")
		out.Operators = append(out.Operators, OperatorWords{string(op), verb})
	}
	return out
}

// phrase returns the field as the subject of a sentence.
func (s Speaker) phrase(f *field) string {
	l := s.locale()
	switch {
	case f.key != "" && f.holder == ofSale:
		return l.T("the payment’s “%s”", f.key)
	case f.key != "":
		return l.T("the customer’s “%s”", f.key)
	case s.ToPartner && partnerPhrases[f.name] != "":
		return l.T(partnerPhrases[f.name])
	}
	return l.T(phrases[f.name])
}

// sentence returns an operator as a sentence about the field.
func (f *field) sentence(op operator) string {
	if words := sentencesOfDays[op]; words != "" && f.kind == kindDate {
		return words
	}
	return sentences[op]
}

// Speaker describes conditions in words. Name returns an object's name by its id, "" if unknown, and Product that of a
// product; both may be nil. Without a Locale it uses English.
type Speaker struct {
	Trigger   Trigger
	Currency  string
	Name      func(id string) string
	Product   func(id string) string
	Locale    *locale.Locale
	ToPartner bool // the reader is the partner in question
	Public    bool // omit conditions on single partners and internal names
}

// locale returns the language to use.
func (s Speaker) locale() *locale.Locale { return cmp.Or(s.Locale, locale.English) }

// Conditions describes conditions, such as "the amount is at least 20.00 USD and the product is box". It returns
// "" for no conditions, which always match.
func (s Speaker) Conditions(raw json.RawMessage) (string, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return "", err
	}
	return s.join(items, "%s and %s", false)
}

// join describes several conditions; within another group they get brackets.
func (s Speaker) join(items []json.RawMessage, with string, inner bool) (string, error) {
	out := ""
	for i, raw := range items {
		part, err := s.item(raw, len(items) > 1)
		if err != nil {
			return "", err
		}
		if i > 0 {
			part = s.locale().T(with, out, part)
		}
		out = part
	}
	if inner && len(items) > 1 {
		out = "(" + out + ")"
	}
	return out, nil
}

// item describes a condition or a group.
func (s Speaker) item(raw json.RawMessage, inner bool) (string, error) {
	var it struct {
		Any, All []json.RawMessage
		Field    string
		Operator operator
		Value    json.RawMessage
	}
	if err := json.Unmarshal(raw, &it); err != nil {
		return "", err
	}
	switch {
	case it.Any != nil:
		return s.join(it.Any, "%s or %s", inner)
	case it.All != nil:
		return s.join(it.All, "%s and %s", inner)
	}
	f, wrong := fieldOf(it.Field, s.Trigger)
	if wrong != "" {
		return "", fmt.Errorf("field %q %s", it.Field, wrong)
	}
	return s.leaf(f, it.Operator, it.Value)
}

// leaf describes one condition.
func (s Speaker) leaf(f *field, op operator, raw json.RawMessage) (string, error) {
	if s.Public && private(f) {
		return "", errPrivate
	}
	if s.ToPartner && unnamed(f) {
		return "", errUnnamed
	}
	l, phrase := s.locale(), s.phrase(f)
	switch {
	case f.kind == kindBool && string(raw) == "true":
		return l.T("it is %s", phrase), nil
	case f.kind == kindBool:
		return l.T("it is not %s", phrase), nil
	case op == opExists && string(raw) == "false":
		return l.T("%s is not known", phrase), nil
	case op == opExists:
		return l.T("%s is known", phrase), nil
	}
	if words := s.age(f, op, raw); words != "" {
		return words, nil
	}
	values, err := s.values(f, raw)
	if err != nil {
		return "", err
	}
	if len(values) == 1 { // "one of" a single value is that value
		switch op {
		case opIn:
			op = opEq
		case opNotIn:
			op = opNeq
		}
	}
	if f.name == "sale.interval" && op == opEq && billed[texts(raw)[0]] != "" {
		return l.T(billed[texts(raw)[0]]), nil
	}
	last := len(values) - 1
	list := values[last]
	if last > 0 {
		list = l.T("%s or %s", strings.Join(values[:last], ", "), list)
	}
	return l.T(f.sentence(op), phrase, list), nil
}

// billed are the sentences for a single billing interval.
var billed = map[string]string{
	"day": "it is billed daily", "week": "it is billed weekly", "month": "it is billed monthly",
	"year": "it is billed yearly",
}

// values formats the values of a condition.
func (s Speaker) values(f *field, raw json.RawMessage) ([]string, error) {
	list := []json.RawMessage{raw}
	if strings.HasPrefix(strings.TrimSpace(string(raw)), "[") {
		list = nil // else the first value would overwrite raw
		if err := json.Unmarshal(raw, &list); err != nil || len(list) == 0 {
			return nil, fmt.Errorf("the value %s is not a list of values: %w", raw, err)
		}
	}
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = s.value(f, v)
	}
	return out, nil
}

// value formats one value.
func (s Speaker) value(f *field, raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	l := s.locale()
	switch f.kind {
	case kindMoney:
		if minor, err := strconv.ParseInt(text, 10, 64); err == nil {
			return l.Money(minor, s.Currency)
		}
	case kindEnum:
		return l.Said(cmp.Or(choices[text], text))
	case kindCurrency, kindCountry:
		return strings.ToUpper(text)
	case kindDate:
		if day, err := time.Parse(time.RFC3339, text); err == nil && s.Locale != nil {
			return l.Date(day)
		}
		return strings.TrimSuffix(text, "T00:00:00Z")
	case kindID, kindIDSet:
		if s.Name != nil {
			if name := s.Name(text); name != "" {
				return name
			}
		}
		return l.T("one that was deleted")
	}
	switch {
	case f.name == productID && s.ToPartner:
		return cmp.Or(s.productName(text), l.T("a selected product"))
	case f.name == productID && s.Product != nil:
		return cmp.Or(s.Product(text), text)
	}
	return text
}

// productID is the field of the payment's product.
const productID = "sale.product_id"

// Overlap reports that an earlier flow decides first, for all of a flow's partners or for some.
type Overlap struct {
	Earlier string // the flow's id
	Whole   bool
}

// Overlaps returns which paying flows are preceded by others, by their ids: among flows that pay for an event,
// the first in order decides alone (decisions, 134).
func Overlaps(flows []Flow) map[string][]Overlap {
	sorted := slices.Clone(flows)
	slices.SortFunc(sorted, compareFlows)
	out := map[string][]Overlap{}
	for i, f := range sorted {
		for _, earlier := range sorted[:i] {
			if f.Action != GenerateCommission || earlier.Action != GenerateCommission || f.Trigger != earlier.Trigger {
				continue
			}
			if meets, whole := earlier.covers(f); meets {
				out[f.ID] = append(out[f.ID], Overlap{earlier.ID, whole})
			}
		}
	}
	return out
}

// covers reports whether the scopes of two flows overlap, and whether f includes all partners of other.
func (f Flow) covers(other Flow) (meets, whole bool) {
	same := func(a, b *string) bool { return a != nil && b != nil && *a == *b }
	switch {
	case f.GroupID == nil && f.PartnerID == nil, same(f.GroupID, other.GroupID), same(f.PartnerID, other.PartnerID):
		return true, true
	case f.GroupID != nil && other.GroupID != nil, f.PartnerID != nil && other.PartnerID != nil:
		return false, false
	}
	return true, false // a partner may be in the group
}
