package console

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rail/gen/api"
	"rail/server/http/site"
	"rail/server/locale/currency"
	"rail/server/money/rules"
	"rail/server/opt"
)

// storedRule reads a stored flow into the form of a rule.
type storedRule struct {
	flow     api.Flow
	currency string
	choices  map[string][]site.Option // of conditions, by the field
}

// form returns the flow's form.
func (s storedRule) form() ruleForm {
	f := s.flow
	out := ruleForm{
		ID: f.ID, Name: f.Name, Description: opt.Value(f.Description),
		Trigger: string(f.Trigger), Action: string(f.Action), Whom: forEveryone,
		GroupID: opt.Value(f.GroupID), PartnerID: opt.Value(f.PartnerID), TargetGroupID: opt.Value(f.TargetGroupID),
		RateType: string(opt.Value(f.RateType)),
		Approval: string(f.ApprovalMode),
		Priority: strconv.FormatInt(f.Priority, 10), Status: string(f.Status),
		currency: s.currency,
	}
	if f.GroupID != nil {
		out.Whom = forGroup
	}
	if p, err := f.Partner.Get(); err == nil {
		out.Whom, out.Partner, out.NamedPartner = forPartner, p.Email, p.Email
	}
	if f.RateType != nil {
		out.Rate = typedRate(out.RateType, opt.Value(f.RateValue), s.currency)
	}
	if f.ApprovalDelayDays != nil {
		out.Delay = strconv.FormatInt(*f.ApprovalDelayDays, 10)
	}
	for i, b := range f.Branches {
		at := fmt.Sprintf("b%d.", i)
		out.Cases = append(out.Cases, ruleCase{
			At: at, ID: b.ID, Label: opt.Value(b.Label), RateType: string(b.RateType),
			Rate: typedRate(string(b.RateType), b.RateValue, s.currency), Rows: s.rows(at, b.Conditions),
		})
	}
	return out
}

// rows returns stored conditions as rows. Conditions that the form cannot edit stay as they are.
func (s storedRule) rows(at string, stored json.RawMessage) []ruleRow {
	var items []json.RawMessage
	if json.Unmarshal(stored, &items) != nil {
		return nil
	}
	var out []ruleRow
	for _, item := range items {
		out = append(out, s.item(item)...)
	}
	for j := range out {
		out[j].At = fmt.Sprintf("%sc%d.", at, j)
	}
	return out
}

// item is a condition, or a group of which any is enough, as rows.
func (s storedRule) item(item json.RawMessage) []ruleRow {
	var group either
	if json.Unmarshal(item, &group) != nil || len(group.Any) == 0 {
		group.Any = []json.RawMessage{item}
	}
	rows := make([]ruleRow, len(group.Any))
	for i, one := range group.Any {
		row, ok := s.row(one)
		if !ok {
			return []ruleRow{s.fixedRow(item)}
		}
		if i > 0 {
			row.Join = "or"
		}
		rows[i] = row
	}
	return rows
}

// fixedRow returns a row for a condition that the form cannot edit.
func (s storedRule) fixedRow(item json.RawMessage) ruleRow {
	speaker := rules.Speaker{Trigger: rules.Trigger(s.flow.Trigger), Currency: s.currency, Name: s.nameOf}
	words, err := speaker.Conditions(json.RawMessage("[" + string(item) + "]"))
	if err != nil {
		words = string(item)
	}
	return ruleRow{Kept: string(item), InWords: words}
}

// nameOf returns the name of a choice by its value, "" if unknown.
func (s storedRule) nameOf(id string) string {
	for _, options := range s.choices {
		if label := labelOf(options, id); label != "" {
			return label
		}
	}
	return ""
}

// row returns one stored condition as a row; it reports false if a row cannot show it.
func (s storedRule) row(item json.RawMessage) (ruleRow, bool) {
	var leaf struct {
		Field, Operator string
		Value           json.RawMessage
	}
	if json.Unmarshal(item, &leaf) != nil || leaf.Field == "" {
		return ruleRow{}, false
	}
	name, r := leaf.Field, ruleRow{Op: leaf.Operator}
	for _, holder := range []string{saleMetadata, customerMetadata} {
		if key, ok := strings.CutPrefix(leaf.Field, holder); ok {
			name, r.Key = holder, key
		}
	}
	var ok bool
	if r.Field, ok = ruleField(name, string(s.flow.Trigger)); !ok {
		return r, false
	}
	if leaf.Operator == "exists" {
		if string(leaf.Value) == no {
			r.Op = "absent"
		}
		return r, true
	}
	shown := s.fill(&r, leaf.Value)
	return r, shown
}

// fill gives a row its stored value, and reports whether the form can show it.
func (s storedRule) fill(r *ruleRow, stored json.RawMessage) bool {
	var values []json.RawMessage
	if json.Unmarshal(stored, &values) != nil {
		values = []json.RawMessage{stored}
	}
	texts := make([]string, len(values))
	for i, one := range values {
		number := json.Unmarshal(one, &texts[i]) != nil
		if number {
			texts[i] = s.figure(r.Field.Kind, string(one))
		}
		// A number of metadata is only compared by size, and a list is split at commas.
		if r.Field.Kind == "metadata" && number != slices.Contains(ordered, r.Op) ||
			len(values) > 1 && strings.Contains(texts[i], ",") {
			return false
		}
	}
	product := r.Field.Name == productField
	if r.Field.Kind != "choice" && !product {
		r.Value = strings.Join(texts, ", ")
		return true
	}
	switch r.Op {
	case "eq":
		r.Op = "in"
	case "neq":
		r.Op = "not_in"
	}
	if product {
		r.Values, r.Value = s.products(r.Op, texts)
		return true
	}
	r.Values = texts
	return !slices.ContainsFunc(texts, func(t string) bool { return labelOf(s.choices[r.Field.Name], t) == "" })
}

// products returns the products that the form offers, to tick, and the ids of the others, to type.
func (s storedRule) products(op string, ids []string) (ticked []string, typed string) {
	var others []string
	for _, id := range ids {
		if (op == "in" || op == "not_in") && labelOf(s.choices[productField], id) != "" {
			ticked = append(ticked, id)
		} else {
			others = append(others, id)
		}
	}
	return ticked, strings.Join(others, ", ")
}

// figure returns a stored number as it is typed.
func (s storedRule) figure(kind, text string) string {
	minor, err := strconv.ParseInt(text, 10, 64)
	if kind == "money" && err == nil {
		return currency.Decimal(minor, s.currency)
	}
	return text
}

// typedRate is a rate as it is typed: percent, or an amount of the currency.
func typedRate(rateType string, value int64, code string) string {
	if rateType == string(api.RateTypePercent) {
		return strconv.FormatFloat(float64(value)/100, 'f', -1, 64)
	}
	return currency.Decimal(value, code)
}
