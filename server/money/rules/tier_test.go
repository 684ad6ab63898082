package rules

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/opt"
)

// TestNextTier finds the next better rate, and none where other conditions decide too.
func TestNextTier(t *testing.T) {
	t.Parallel()
	from := func(operator string, n, rate int) string {
		return fmt.Sprintf(`{"rate_type":"percent","rate_value":%d,"conditions":[{"field":"partner.customers_count","operator":%q,"value":%d}]}`,
			rate, operator, n)
	}
	country := `{"rate_type":"percent","rate_value":9000,"conditions":[{"field":"customer.country","operator":"eq","value":"DE"}]}`
	both := `{"rate_type":"percent","rate_value":9000,"conditions":[{"field":"partner.customers_count","operator":"gte","value":3},` +
		`{"field":"customer.country","operator":"eq","value":"DE"}]}`
	fixed := `{"rate_type":"fixed","rate_value":9000,"conditions":[{"field":"partner.customers_count","operator":"gte","value":5}]}`
	for name, c := range map[string]struct {
		branches  string
		customers int64
		want      string // customers and rate; "" for none
	}{
		"the first":              {from("gte", 50, 3500) + "," + from("gte", 10, 3000), 0, "10 3000"},
		"the second":             {from("gte", 50, 3500) + "," + from("gte", 10, 3000), 10, "50 3500"},
		"all reached":            {from("gte", 50, 3500) + "," + from("gte", 10, 3000), 50, ""},
		"more than":              {from("gt", 9, 3000), 9, "10 3000"},
		"hidden by an earlier":   {from("gte", 10, 3000) + "," + from("gte", 50, 3500), 20, ""},
		"no better":              {from("gte", 10, 2000), 0, ""},
		"fewer than":             {from("lt", 10, 3000), 0, ""},
		"another type":           {fixed, 0, ""},
		"another field":          {country, 0, ""},
		"another field too":      {from("gte", 10, 3000) + "," + country, 0, ""},
		"two conditions":         {both, 0, ""},
		"no branches":            {"", 0, ""},
		"a better one beyond it": {from("gte", 50, 3500) + "," + from("gte", 10, 1000), 0, "50 3500"},
	} {
		got := ""
		if next, ok := NextTier(Rate{RatePercent, 2000}, json.RawMessage("["+c.branches+"]"), c.customers); ok {
			got = fmt.Sprint(next.Customers, " ", next.RateValue)
		}
		require.Equal(t, c.want, got, name)
	}
	_, ok := NextTier(Rate{}, json.RawMessage("{"), 0)
	require.False(t, ok)
}

// TestNextMove finds the group that more customers lead to, and none where anything else decides.
func TestNextMove(t *testing.T) {
	t.Parallel()
	conditions := func(text string) json.RawMessage {
		return json.RawMessage(`[{"rate_type":"percent","rate_value":0,"conditions":[` + text + `]}]`)
	}
	from := func(group string, n int) db.Flow {
		return db.Flow{
			Trigger: NewPayment, TargetGroupID: &group,
			Branches: conditions(fmt.Sprintf(`{"field":"partner.customers_count","operator":"gte","value":%d}`, n)),
		}
	}
	always := db.Flow{Trigger: NewPayment, TargetGroupID: new("grp_start"), Branches: json.RawMessage("[]")}
	signup := always
	signup.Trigger = NewSignup
	country := from("grp_vip", 1)
	country.Branches = conditions(`{"field":"customer.country","operator":"eq","value":"DE"}`)
	vip, gold := from("grp_vip", 10), from("grp_gold", 50)
	for name, c := range map[string]struct {
		moves     []db.Flow
		group     string
		customers int64
		want      string // the group and the customers; "" for none
	}{
		"the first":             {[]db.Flow{gold, vip}, "grp_start", 3, "grp_vip 10"},
		"the second":            {[]db.Flow{gold, vip}, "grp_vip", 20, "grp_gold 50"},
		"the last":              {[]db.Flow{gold, vip}, "grp_gold", 60, ""},
		"never reached":         {[]db.Flow{vip, gold}, "grp_vip", 20, ""},
		"with the next payment": {[]db.Flow{gold, vip}, "grp_start", 12, ""},
		"back":                  {[]db.Flow{gold, vip}, "grp_gold", 3, "grp_vip 10"},
		"always elsewhere":      {[]db.Flow{vip, always}, "grp_other", 3, ""},
		"always here":           {[]db.Flow{vip, always}, "grp_start", 3, "grp_vip 10"},
		"a sign-up":             {[]db.Flow{vip, signup}, "grp_start", 3, ""},
		"another field":         {[]db.Flow{vip, country}, "grp_start", 3, ""},
		"no group yet":          {[]db.Flow{vip}, "", 3, "grp_vip 10"},
		"no flows":              {nil, "grp_start", 3, ""},
	} {
		got := ""
		if next, ok := NextMove(c.moves, opt.OrNil(c.group), c.customers); ok {
			got = fmt.Sprint(next.GroupID, " ", next.Customers)
		}
		require.Equal(t, c.want, got, name)
	}
}

// TestBest compares the best rates of flows. Rates of different types do not compare.
func TestBest(t *testing.T) {
	t.Parallel()
	branches := func(text string) json.RawMessage { return json.RawMessage("[" + text + "]") }
	own := Rate{RatePercent, 2000}
	require.Equal(t, own, Best(own, branches("")))
	require.Equal(t, own, Best(own, branches(`{"rate_type":"fixed","rate_value":0}`)))
	require.Equal(t, Rate{RatePercent, 3000}, Best(own, branches(`{"rate_type":"percent","rate_value":3000}`)))
	require.Equal(t, Rate{RateFixed, 500}, Best(Rate{RatePercent, 0}, branches(`{"rate_type":"fixed","rate_value":500}`)))
	require.Zero(t, Best(own, branches(`{"rate_type":"fixed","rate_value":500}`)))
	require.True(t, Better(own, Rate{}))
	require.True(t, Better(Rate{RatePercent, 3000}, own))
	require.False(t, Better(own, own))
	require.False(t, Better(Rate{RateFixed, 9000}, own))
	require.False(t, Better(Rate{}, own))
}
