package console

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rail/server/locale/currency"
	"rail/server/money/rules"
)

const (
	saleMetadata     = "sale.metadata."
	customerMetadata = "customer.metadata."
)

// ruleRow is one condition in the form. Rows that begin with "or" belong to the row before: with it, any of
// them is enough.
type ruleRow struct {
	At, Join      string
	Field         rules.FieldWords
	Key           string // of metadata
	Op            string
	Value         string
	Values        []string // those ticked of a choice
	Kept, InWords string   // a condition that the form cannot show, as JSON, and in words
}

// maxValue is how many characters a field takes: several values are typed with commas.
const maxValue = 2000

// yes and no are what a yes-or-no can be.
const yes, no = "true", "false"

// newRow is an empty condition on a field.
func (d *ruleData) newRow(field string) []ruleRow {
	if field == saleMetadata || field == customerMetadata {
		return []ruleRow{{Field: rules.FieldWords{Name: field, Kind: "metadata"}}}
	}
	f, ok := rules.FieldNamed(field, d.trigger)
	if !ok {
		return nil
	}
	return []ruleRow{{Field: f}}
}

// typedRows reads the conditions of a case from the form.
func (d *ruleData) typedRows(v *visit, at string) []ruleRow {
	var out []ruleRow
	for j := range maxRows {
		r := ruleRow{At: fmt.Sprintf("%sc%d.", at, j)}
		if r.Kept = v.value(r.At + "kept"); r.Kept != "" {
			r.InWords = v.value(r.At + "words")
			out = append(out, r)
			continue
		}
		made := d.newRow(v.value(r.At + "field"))
		if made == nil {
			break
		}
		r.Field, r.Join, r.Key, r.Op = made[0].Field, v.value(r.At+"join"), v.value(r.At+"key"), v.value(r.At+"op")
		r.Value, r.Values = v.value(r.At+"value"), v.values(r.At+"values")
		out = append(out, r)
	}
	return out
}

// conditions are the rows as the API takes them.
func (d *ruleData) conditions(rows []ruleRow) []any {
	var out [][]any
	for i, r := range rows {
		item := d.condition(r)
		if i > 0 && r.Join == "or" {
			out[len(out)-1] = append(out[len(out)-1], item)
			continue
		}
		out = append(out, []any{item})
	}
	items := make([]any, len(out))
	for i, group := range out {
		items[i] = group[0]
		if len(group) > 1 {
			items[i] = map[string]any{"any": group}
		}
	}
	return items
}

// condition is one row as the API takes it.
func (d *ruleData) condition(r ruleRow) any {
	if r.Kept != "" {
		return raw(r.Kept)
	}
	op := r.Op
	var value any
	switch {
	case r.Field.Kind == "bool":
		op, value = "eq", r.Value == yes
	case op == "exists", op == "absent":
		value, op = op == "exists", "exists"
	case r.Field.Kind == "choice":
		value = r.Values
	case op == "in" || op == "not_in":
		list := []any{}
		for text := range strings.SplitSeq(r.Value, ",") {
			if text = strings.TrimSpace(text); text != "" {
				list = append(list, d.read(r, text))
			}
		}
		value = list
	default:
		value = d.read(r, r.Value)
	}
	return map[string]any{"field": r.name(), "operator": op, "value": value}
}

// name is the field's name; that of metadata has its key.
func (r ruleRow) name() string {
	if r.Field.Kind == "metadata" {
		return r.Field.Name + r.Key
	}
	return r.Field.Name
}

// ordered are the operators that compare numbers.
var ordered = []string{"gt", "gte", "lt", "lte"}

// read reads one value that was typed. What cannot be read stays text, which the API refuses.
func (d *ruleData) read(r ruleRow, text string) any {
	switch r.Field.Kind {
	case "money":
		if minor, ok := currency.Minor(text, d.currency); ok {
			return minor
		}
	case "number":
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
	case "metadata":
		if n := json.Number(text); slices.Contains(ordered, r.Op) && json.Valid([]byte(n)) {
			return n
		}
	}
	return text
}
