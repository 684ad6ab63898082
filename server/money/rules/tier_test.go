package rules

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
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
