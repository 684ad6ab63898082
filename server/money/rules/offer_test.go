package rules_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/locale"
	"rail/server/money/rules"
)

// offered returns the terms of a flow that pays 20 % and has branches; each is a label, a rate and its conditions.
func offered(t *testing.T, public bool, language string, branches ...string) string {
	t.Helper()
	s := rules.Speaker{
		Trigger: rules.NewPayment, Currency: "USD", Locale: locale.Of(language), ToPartner: true, Public: public,
		Product: func(id string) string { return map[string]string{"prod_pro": "Pro", "prod_team": "Team"}[id] },
	}
	out, err := s.Terms(rules.Rate{RateType: rules.RatePercent, RateValue: 2000}, json.RawMessage("["+strings.Join(branches, ",")+"]"))
	require.NoError(t, err)
	return strings.Join(out, " ")
}

// pays returns a branch with a rate in basis points.
func pays(label, rate string, conditions ...string) string {
	return `{"label":"` + label + `","rate_type":"percent","rate_value":` + rate + `,"conditions":[` + strings.Join(conditions, ",") + `]}`
}

// where returns a condition.
func where(field, operator, value string) string {
	return `{"field":"` + field + `","operator":"` + operator + `","value":` + value + `}`
}

// TestOffer begins with the best rate, names products, and never has an id.
func TestOffer(t *testing.T) {
	t.Parallel()
	pro := where("sale.product_id", "eq", `"prod_pro"`)
	year := where("customer.months_since_conversion", "lt", "12")
	for want, branches := range map[string][]string{
		"You earn 30 % on Pro for a customer’s first 12 months. You earn 20 % on everything else.": {pays("Pro, first year", "3000", pro, year)},
		"You earn 40 % on yearly plans. You earn 20 % on everything else. You earn no commission on Team.": {
			pays("", "0", where("sale.product_id", "in", `["prod_team"]`)), pays("", "4000", where("sale.interval", "eq", `"year"`)),
		},
		"You earn 20 % of every payment. You earn 5 % on selected products.":                                      {pays("", "500", where("sale.product_id", "eq", `"prod_secret"`))},
		"You earn 30 % on Pro and Team. You earn 20 % on everything else.":                                        {pays("", "3000", where("sale.product_id", "in", `["prod_pro","prod_team"]`))},
		"You earn 30 % on everything except Pro. You earn 20 % on everything else.":                               {pays("", "3000", where("sale.product_id", "neq", `"prod_pro"`))},
		"You earn 30 % on selected products. You earn 20 % on everything else.":                                   {pays("", "3000", where("sale.product_name", "contains", `"x"`))},
		"You earn 30 % of every payment for a customer’s first month. You earn 20 % of every payment after that.": {pays("", "3000", where("customer.months_since_conversion", "lte", "0"))},
		"You earn 30 % on a customer’s first payment. You earn 20 % on everything else.":                          {pays("", "3000", where("sale.is_first_sale", "eq", "true"))},
		"You earn 30 % of every payment (Big ones). You earn 20 % on everything else.":                            {pays("Big ones", "3000", where("sale.amount_minor", "gte", "10000"))},
		"You earn 30 % of every payment, if the amount is at least 100.00 USD and the currency is EUR. You earn 20 % on everything else.": {
			pays("", "3000", where("sale.amount_minor", "gte", "10000"), where("sale.currency", "eq", `"eur"`)),
		},
		"You earn 30 % of every payment, if the product is a selected product or it is billed yearly. You earn 20 % on everything else.": {
			pays("", "3000", `{"any":[`+where("sale.product_id", "eq", `"prod_secret"`)+","+where("sale.interval", "eq", `"year"`)+"]}"),
		},
		"You earn 30 % of every payment in certain cases. You earn 20 % on everything else.": {pays("", "3000", where("customer.identifier", "eq", `"cus_1"`))},
		"You earn 30 % of every payment (Friends). You earn 20 % on everything else.":        {pays("Friends", "3000", where("sale.metadata.tier", "eq", `"t1"`))},
	} {
		require.Equal(t, want, offered(t, false, "en", branches...))
	}
	require.Equal(t, "You earn 20 % of every payment.", offered(t, true, "en", pays("Friends", "3000", where("sale.metadata.tier", "eq", `"t1"`))))
	require.Equal(t, "Sie verdienen 30 % auf Pro in den ersten 12 Monaten eines Kunden. Sie verdienen 20 % auf alles andere.",
		offered(t, true, "de", pays("", "3000", pro, year)))
	require.Equal(t, "報酬は顧客の最初の12か月間、Proについて30 %です。 報酬はそれ以外について20 %です。", offered(t, true, "ja", pays("", "3000", pro, year)))
}
