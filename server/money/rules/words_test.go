package rules_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/locale"
	"rail/server/money/rules"
)

func TestRateWords(t *testing.T) {
	t.Parallel()
	for want, rate := range map[string]rules.Rate{
		"20 % of every payment":      {RateType: rules.RatePercent, RateValue: 2000},
		"12.5 % of every payment":    {RateType: rules.RatePercent, RateValue: 1250},
		"5.00 USD for every payment": {RateType: rules.RateFixed, RateValue: 500},
		"nothing":                    {RateType: rules.RatePercent},
	} {
		require.Equal(t, want, rate.Words(rules.NewPayment, "USD"))
	}
	require.Equal(t, "500 JPY for every sign-up",
		rules.Rate{RateType: rules.RateFixed, RateValue: 500}.Words(rules.NewSignup, "JPY"))
}

func TestConditionWords(t *testing.T) {
	t.Parallel()
	s := rules.Speaker{Trigger: rules.NewPayment, Currency: "USD", Name: func(id string) string {
		return map[string]string{"grp_06h0000000000000000000000a": "Gold"}[id]
	}}
	for conditions, want := range map[string]string{
		`[]`: "",
		`[{"field":"sale.amount_minor","operator":"gte","value":2000}]`:                                                              "the amount is at least 20.00 USD",
		`[{"field":"sale.product_id","operator":"in","value":["box","bag","hat"]}]`:                                                  "the product is one of box, bag or hat",
		`[{"field":"sale.product_id","operator":"not_in","value":["box"]}]`:                                                          "the product is not box",
		`[{"field":"sale.is_first_sale","operator":"eq","value":true}]`:                                                              "it is the customer’s first payment",
		`[{"field":"sale.is_first_sale","operator":"eq","value":false}]`:                                                             "it is not the customer’s first payment",
		`[{"field":"customer.country","operator":"eq","value":"de"}]`:                                                                "the customer’s country is DE",
		`[{"field":"customer.identifier","operator":"exists","value":false}]`:                                                        "your id of the customer is not known",
		`[{"field":"sale.interval","operator":"in","value":["month"]}]`:                                                              "it is billed monthly",
		`[{"field":"sale.interval","operator":"in","value":["month","year"]}]`:                                                       "the billing interval is one of month or year",
		`[{"field":"sale.billing_type","operator":"eq","value":"one_time"}]`:                                                         "the kind of payment is one time",
		`[{"field":"customer.lead_at","operator":"lt","value":"2026-01-01T00:00:00Z"}]`:                                              "the day on which the customer signed up is before 2026-01-01",
		`[{"field":"sale.metadata.plan","operator":"gt","value":3}]`:                                                                 "the payment’s “plan” is more than 3",
		`[{"field":"partner.group_id","operator":"in","value":["grp_06h0000000000000000000000a","grp_06h0000000000000000000000b"]}]`: "the partner’s group is one of Gold or one that was deleted",
		`[{"field":"customer.sales_count","operator":"lte","value":3},{"any":[{"field":"sale.interval","operator":"eq","value":"year"},
			{"all":[{"field":"sale.currency","operator":"eq","value":"eur"},{"field":"sale.amount_minor","operator":"gt","value":1}]}]}]`: "the number of the customer’s payments is at most 3 and " +
			"(it is billed yearly or (the currency is EUR and the amount is more than 0.01 USD))",
	} {
		_, wrong := rules.ParseConditions(json.RawMessage(conditions), rules.NewPayment)
		require.Nil(t, wrong, "what is put into words here is valid")
		words, err := s.Conditions(json.RawMessage(conditions))
		require.NoError(t, err)
		require.Equal(t, want, words)
	}
	for _, broken := range []string{`{}`, `[3]`, `[{"field":"sale.colour","operator":"eq","value":"red"}]`} {
		_, err := s.Conditions(json.RawMessage(broken))
		require.Error(t, err, broken)
	}
}

// Every field can be described, with each of its operators.
func TestFieldsAreWorded(t *testing.T) {
	t.Parallel()
	all := rules.FieldsIn(rules.NewPayment)
	require.Greater(t, len(all), len(rules.FieldsIn(rules.NewSignup)))
	seen := map[string]bool{}
	for _, f := range all {
		require.NotEmpty(t, f.Words, f.Name)
		require.False(t, seen[f.Words], "%s is said as another field is", f.Name)
		require.NotEmpty(t, f.Kind, f.Name)
		require.NotEmpty(t, f.Operators, f.Name)
		for _, op := range f.Operators {
			require.NotEmpty(t, op.Words, f.Name+" "+op.Name)
		}
		seen[f.Words] = true
	}
	found, ok := rules.FieldNamed("customer.metadata.plan", rules.NewSignup)
	require.True(t, ok)
	require.Equal(t, "metadata", found.Kind)
	_, ok = rules.FieldNamed("sale.amount_minor", rules.NewSignup)
	require.False(t, ok)
}

func TestOverlaps(t *testing.T) {
	t.Parallel()
	pays := func(id string, priority int64, group, partner *string) rules.Flow {
		return rules.Flow{
			ID: id, Priority: priority, GroupID: group, PartnerID: partner, Trigger: rules.NewPayment,
			Action: rules.GenerateCommission,
		}
	}
	gold, silver, ada := new("gold"), new("silver"), new("ada")
	moves := rules.Flow{ID: "moves", Trigger: rules.NewPayment, Action: rules.SwitchGroup, TargetGroupID: gold}
	signup := pays("signup", 0, nil, nil)
	signup.Trigger = rules.NewSignup
	require.Equal(t, map[string][]rules.Overlap{
		"all":  {{"gold", false}, {"silver", false}, {"ada", false}},
		"late": {{"gold", true}, {"ada", false}, {"all", true}},
		"ada":  {{"gold", false}, {"silver", false}},
	}, rules.Overlaps([]rules.Flow{
		pays("late", 90, gold, nil), pays("all", 50, nil, nil), pays("gold", 10, gold, nil), moves, signup,
		pays("ada", 30, nil, ada), pays("silver", 20, silver, nil),
	}))
}

// TestWordsInEveryLanguage: fields and operators have translations in every language.
func TestWordsInEveryLanguage(t *testing.T) {
	t.Parallel()
	for _, l := range locale.All()[1:] {
		for _, f := range rules.FieldsIn(rules.NewPayment) {
			require.NotEqual(t, f.Words, l.T(f.Words), "%s in %s", f.Name, l.Language())
			for _, op := range f.Operators {
				sentence := "%s " + op.Words + " %s"
				if op.Name == "exists" {
					sentence = "%s " + op.Words
				}
				require.NotContains(t, l.T(sentence, "X", "Y"), " "+op.Words+" ", "%s in %s", op.Name, l.Language())
			}
		}
		says, err := rules.Speaker{Trigger: rules.NewPayment, Currency: "EUR", Locale: l, ToPartner: true}.Conditions(
			json.RawMessage(`[{"field":"partner.revenue_minor","operator":"gte","value":123450}]`))
		require.NoError(t, err)
		require.Contains(t, says, l.Money(123450, "EUR"))
	}
}

// TestTerms checks the descriptions of flows for partners.
func TestTerms(t *testing.T) {
	t.Parallel()
	year := `{"conditions":[{"field":"customer.months_since_conversion","operator":"%s","value":%d}],"rate_type":"percent","rate_value":5000}`
	words := func(language string, own int64, branches string) []string {
		out, err := rules.Speaker{Trigger: rules.NewPayment, Currency: "USD", Locale: locale.Of(language)}.Terms(
			rules.Rate{RateType: rules.RatePercent, RateValue: own}, json.RawMessage(branches))
		require.NoError(t, err)
		return out
	}
	require.Equal(t, []string{"You earn 20 % of every payment."}, words("en", 2000, `[]`))
	require.Equal(t, []string{
		"You earn 50 % of every payment for a customer’s first 12 months.",
		"You earn 20 % of every payment after that.",
	}, words("en", 2000, "["+fmt.Sprintf(year, "lt", 12)+"]"))
	require.Equal(t, []string{"You earn 50 % of every payment for a customer’s first 12 months."},
		words("en", 0, "["+fmt.Sprintf(year, "lte", 11)+"]"))
	require.Equal(t, []string{"Sie verdienen 50 % jeder Zahlung nach den ersten 12 Monaten eines Kunden."},
		words("de", 0, "["+fmt.Sprintf(year, "gt", 11)+"]"))
	require.Equal(t, []string{"You earn nothing."}, words("en", 0, `[]`))
	require.Equal(t, []string{"You earn 5 % of every payment."},
		words("en", 2000, `[{"conditions":[],"rate_type":"percent","rate_value":500}]`), "a branch that always fits is the rate")
}
