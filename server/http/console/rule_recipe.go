package console

import (
	"strings"

	"rail/gen/api"
	"rail/server/money/rules"
)

// A recipe is a short form for a common rule. It gives the same form as the editor, with a suggested name.

// The recipes: a share of every payment, of the payments in a customer's first months, and another share for a product.
const (
	recipeMonths  = "months"
	recipeProduct = "product"
)

// productField is the field of the payment's product.
const productField = "sale.product_id"

// blankRule returns the form of a new rule: a percentage of every payment, for everyone.
func blankRule(code string) ruleForm {
	return ruleForm{
		Trigger: string(api.FlowTriggerNewPayment), Action: string(api.FlowActionGenerateCommission), Whom: forEveryone,
		RateType: string(api.RateTypePercent), Rate: "20", Approval: string(api.FlowApprovalModeImmediate), Priority: "100",
		Status: string(api.FlowStatusActive), currency: code,
	}
}

// recipeRule returns the rule of a recipe whose fields read returns.
func recipeRule(recipe, code string, read func(string) string) ruleForm {
	f := blankRule(code)
	rate := strings.TrimSpace(strings.TrimSuffix(read("rate"), "%"))
	switch recipe {
	case recipeMonths:
		months := read("months")
		f.Name, f.Rate = rate+" % for the first "+months+" months", "0"
		f.Cases = exceptionOn("customer.months_since_conversion", "lt", months, rate, "First "+months+" months")
	case recipeProduct:
		id, name, named := strings.Cut(read("product"), "\t")
		if !named {
			name = id
		}
		f.Name, f.Rate = rate+" % on "+name, read("other_rate")
		f.Cases = exceptionOn(productField, "in", id, rate, name)
	default:
		f.Name, f.Rate = rate+" % of every payment", rate
	}
	return f
}

// exceptionOn returns an exception with one condition.
func exceptionOn(field, op, value, rate, label string) []ruleCase {
	f, _ := rules.FieldNamed(field, rules.NewPayment)
	return []ruleCase{{
		At: "b0.", Label: label, RateType: string(api.RateTypePercent), Rate: rate,
		Rows: []ruleRow{{At: "b0.c0.", Field: f, Op: op, Value: value}},
	}}
}
