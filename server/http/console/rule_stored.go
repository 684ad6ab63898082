package console

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rail/gen/api"
	"rail/server/locale/currency"
	"rail/server/money/rules"
)

// storedRows returns stored conditions as rows. Conditions that the form cannot edit stay as they are.
func (d *ruleData) storedRows(at string, stored json.RawMessage) []ruleRow {
	var items []json.RawMessage
	if json.Unmarshal(stored, &items) != nil {
		return nil
	}
	var out []ruleRow
	for _, item := range items {
		out = append(out, d.storedItem(item)...)
	}
	for j := range out {
		out[j].At = fmt.Sprintf("%sc%d.", at, j)
	}
	return out
}

// storedItem is a condition, or a group of which any is enough, as rows.
func (d *ruleData) storedItem(item json.RawMessage) []ruleRow {
	var group struct{ Any []json.RawMessage }
	if json.Unmarshal(item, &group) != nil || len(group.Any) == 0 {
		group.Any = []json.RawMessage{item}
	}
	rows := make([]ruleRow, len(group.Any))
	for i, one := range group.Any {
		row, ok := d.storedRow(one)
		if !ok {
			return []ruleRow{d.fixedRow(item)}
		}
		if i > 0 {
			row.Join = "or"
		}
		rows[i] = row
	}
	return rows
}

// fixedRow returns a row for a condition that the form cannot edit.
func (d *ruleData) fixedRow(item json.RawMessage) ruleRow {
	speaker := rules.Speaker{Trigger: d.trigger, Currency: d.currency, Name: func(id string) string {
		for _, options := range d.choices {
			if label := labelOf(options, id); label != "" {
				return label
			}
		}
		return ""
	}}
	words, err := speaker.Conditions(json.RawMessage("[" + string(item) + "]"))
	if err != nil {
		words = string(item)
	}
	return ruleRow{Kept: string(item), InWords: words}
}

// storedRow returns one stored condition as a row; it reports false if a row cannot show it.
func (d *ruleData) storedRow(item json.RawMessage) (ruleRow, bool) {
	var leaf struct {
		Field, Operator string
		Value           json.RawMessage
	}
	if json.Unmarshal(item, &leaf) != nil || leaf.Field == "" {
		return ruleRow{}, false
	}
	r := ruleRow{Op: leaf.Operator}
	for _, holder := range []string{saleMetadata, customerMetadata} {
		if key, ok := strings.CutPrefix(leaf.Field, holder); ok {
			r.Field, r.Key = rules.FieldWords{Name: holder, Kind: "metadata"}, key
		}
	}
	if r.Key == "" {
		var ok bool
		if r.Field, ok = rules.FieldNamed(leaf.Field, d.trigger); !ok {
			return r, false
		}
	}
	if leaf.Operator == "exists" {
		if string(leaf.Value) == no {
			r.Op = "absent"
		}
		return r, true
	}
	return r, d.fill(&r, leaf.Value)
}

// fill gives a row its stored value, and reports whether the form can show it.
func (d *ruleData) fill(r *ruleRow, stored json.RawMessage) bool {
	var values []json.RawMessage
	if json.Unmarshal(stored, &values) != nil {
		values = []json.RawMessage{stored}
	}
	texts := make([]string, len(values))
	for i, one := range values {
		number := json.Unmarshal(one, &texts[i]) != nil
		if number {
			text := string(one)
			minor, err := strconv.ParseInt(text, 10, 64)
			if r.Field.Kind == "money" && err == nil {
				text = currency.Decimal(minor, d.currency)
			}
			texts[i] = text
		}
		// A number of metadata is only compared by size, and a list is split at commas.
		if r.Field.Kind == "metadata" && number != slices.Contains(ordered, r.Op) || len(values) > 1 && strings.Contains(texts[i], ",") {
			return false
		}
	}
	if r.Field.Kind != "choice" {
		r.Value = strings.Join(texts, ", ")
		return true
	}
	switch r.Op {
	case "eq":
		r.Op = "in"
	case "neq":
		r.Op = "not_in"
	}
	r.Values = texts
	return !slices.ContainsFunc(texts, func(t string) bool { return labelOf(d.choices[r.Field.Name], t) == "" })
}

// typedRate is a rate as it is typed: percent, or an amount of the currency.
func typedRate(rateType string, value int64, code string) string {
	if rateType == string(api.RateTypePercent) {
		return strconv.FormatFloat(float64(value)/100, 'f', -1, 64)
	}
	return currency.Decimal(value, code)
}
