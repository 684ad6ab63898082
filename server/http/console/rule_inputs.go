package console

import (
	"strings"

	"rail/server/http/site"
	"rail/server/money/rules"
)

// Says returns the field in words.
func (r ruleRow) Says() string {
	switch r.Field.Name {
	case saleMetadata:
		return "a value of the payment’s metadata"
	case customerMetadata:
		return "a value of the customer’s metadata"
	}
	return r.Field.Words
}

// Inputs are the lines of the row's form.
func (d *ruleData) Inputs(r ruleRow) []site.Input {
	input := func(name, label, kind, value string) site.Input {
		return site.Input{
			Name: r.At + name, ID: r.At + name, Label: label, Type: kind, Value: value, Auto: "off", Most: maxValue,
		}
	}
	var out []site.Input
	if !strings.HasSuffix(r.At, "c0.") {
		out = append(out, input("join", "Match", "select", r.Join).Of([]site.Option{
			{Value: "and", Label: "and"}, {Value: "or", Label: "or"},
		}))
	}
	if r.Field.Kind == "metadata" {
		out = append(out, input("key", "Key", "text", r.Key))
	}
	if r.Field.Kind != "bool" {
		out = append(out, input("op", "Comparison", "select", r.Op).Of(r.ops()))
	}
	value := input("value", "Value", "text", r.Value)
	switch r.Field.Kind {
	case "bool":
		value = input("value", "Is it", "select", r.Value).Of([]site.Option{{Value: yes, Label: "yes"}, {Value: no, Label: "no"}})
	case "choice":
		value = input("values", "Which", "boxes", "").Of(site.Choose(d.choices[r.Field.Name], r.Values...))
	case "money":
		value.Type, value.Currency = "money", d.currency
	case "number":
		value.Type = "number"
	case "date":
		value.Type = "date"
	default:
		value.Hint = "Several with commas, for “one of”."
	}
	value.Error = d.Faults[r.At+"value"]
	return append(out, value)
}

// ops returns the operators of the row's field. A choice has "one of" and "none of", which include single values.
func (r ruleRow) ops() []site.Option {
	f := r.Field
	if f.Kind == "metadata" {
		f, _ = rules.FieldNamed(customerMetadata+"key", rules.NewPayment)
	}
	var out []site.Option
	for _, op := range f.Operators {
		switch {
		case op.Name == "exists":
			out = append(out, site.Option{Value: "exists", Label: "is known"}, site.Option{Value: "absent", Label: "is not known"})
		case f.Kind == "choice" && (op.Name == "eq" || op.Name == "neq"):
		default:
			out = append(out, site.Option{Value: op.Name, Label: op.Words})
		}
	}
	return out
}
