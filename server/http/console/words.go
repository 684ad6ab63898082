package console

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/oapi-codegen/nullable"
)

// vocabulary has the values whose own name would not be understood.
var vocabulary = map[string]string{
	"one_time": "Once", "usd": "USD", "cancelled": "Canceled", "self_referral": "Self-referral", "reward": "Bonus", "api": "API",
	"no_partner": "No partner", "agent": "AI assistant", "acp": "Agentic Commerce Protocol", "ucp": "Universal Commerce Protocol", "paypal": "PayPal", "wise": "Wise", "net_15": "15 days after month end",
	"net_30": "30 days after month end", "net_60": "60 days after month end", "sale_refunded": "The sale was refunded",
	"below_minimum": "Below the minimum", "no_payout_method": "No payout method", "tax_form_missing": "Tax form missing",
	"too_few_customers": "Too few customers",
	"generic":           "Custom (API)", "lemon_squeezy": "Lemon Squeezy",
	"partner_not_active": "The partner is not active", "risk_review": "A risk flag is open",
}

// text is a stored value as a form's field has it.
func text(stored any) string {
	switch s := stored.(type) {
	case nil:
		return ""
	case string:
		return s
	case nullable.Nullable[string]:
		return embedded(s)
	}
	switch v := reflect.ValueOf(stored); {
	case v.Kind() != reflect.Pointer:
		return fmt.Sprint(stored)
	case v.IsNil():
		return ""
	default:
		return text(v.Elem().Interface())
	}
}

// sentence is the text of an error that is one for people.
func sentence(err error) string {
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
