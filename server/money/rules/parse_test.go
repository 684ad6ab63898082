package rules

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func many(n int, s string) string { return strings.TrimSuffix(strings.Repeat(s+",", n), ",") }

const first1 = `{"field":"sale.is_first_sale","operator":"eq","value":true}`

// cond writes one leaf.
func cond(field, op, value string) string {
	return fmt.Sprintf(`{"field":%q,"operator":%q,"value":%s}`, field, op, value)
}

func TestParseShape(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ raw, path, message string }{
		{`[]`, "", ""},
		{` [ ` + first1 + ` ] `, "", ""},
		{`[{"any":[{"all":[` + first1 + `]}]}]`, "", ""},
		{`[` + many(20, first1) + `]`, "", ""},
		{``, "", "array"}, {`null`, "", "array"}, {`{}`, "", "array"}, {`[`, "", "array"}, {`"x"`, "", "array"},
		{`[null]`, "[0]", "object"}, {`[[]]`, "[0]", "object"},
		{`[{}]`, "[0].field", "required"},
		{`[{"any":[{"all":[{"any":[` + first1 + `]}]}]}]`, "[0].any[0].all[0]", "depth 3"},
		{`[{"any":[]}]`, "[0].any", "1 to 20"}, {`[{"all":null}]`, "[0].all", "array"},
		{`[{"any":[` + many(21, first1) + `]}]`, "[0].any", "1 to 20"},
		{`[` + many(21, first1) + `]`, "[20]", "20 conditions"},
		{`[{"any":[` + first1 + `]},` + many(20, first1) + `]`, "[20]", "20 conditions"},
		{`[{"any":[` + first1 + `],"all":[` + first1 + `]}]`, "[0].all", "one key"},
		{`[{"any":[` + first1 + `],"not":true}]`, "[0].not", "one key"},
		{
			`[` + first1 + `,{"field":"sale.currency","operator":"eq","value":"USD","negate":true}]`, "[1].negate",
			"not allowed",
		},
		{`[{"Field":"sale.currency","operator":"eq","value":"USD"}]`, "[0].Field", "not allowed"},
		{`[{"operator":"eq","value":"USD"}]`, "[0].field", "required"},
		{`[{"field":"sale.currency","value":"USD"}]`, "[0].operator", "required"},
		{`[{"field":"sale.currency","operator":"eq"}]`, "[0].value", "required"},
		{`[{"field":3,"operator":"eq","value":"USD"}]`, "[0].field", "partner.tag_ids"},
		{`[{"field":"sale.currency","operator":null,"value":"USD"}]`, "[0].operator", "not_in"},
		{
			`[{"any":[` + first1 + `,` + first1 + `,` + cond("sale.amount_minor", "gt", "1.0") + `]}]`, "[0].any[2].value",
			"integer",
		},
	} {
		check(t, c.raw, NewPayment, c.path, c.message)
	}
}

func check(t *testing.T, raw string, trigger Trigger, path, message string) {
	t.Helper()
	_, err := ParseConditions(json.RawMessage(raw), trigger)
	if message == "" {
		require.Nil(t, err, raw)
		return
	}
	require.NotNil(t, err, raw)
	require.Equal(t, path, err.Path, raw)
	require.Contains(t, err.Message, message, raw)
	require.Contains(t, err.Error(), err.Message)
}

func TestParseLeaves(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ field, op, value, path, message string }{
		{"sale.nothing", "eq", "1", ".field", "sale.metadata.<key>"},
		{"sale.metadata.", "eq", "1", ".field", "1 to 40"},
		{"sale.metadata.a b", "eq", "1", ".field", "1 to 40"},
		{"customer.metadata." + strings.Repeat("k", 41), "eq", "1", ".field", "1 to 40"},
		{"customer.metadata.a.b-c_D9", "eq", "1", "", ""},
		{"sale.is_first_sale", "neq", "true", ".operator", "must be one of eq for"},
		{"sale.is_first_sale", "eq", `"true"`, ".value", "true or false"},
		{"sale.amount_minor", "in", "[1]", ".operator", "gte"},
		{"sale.amount_minor", "exists", "true", ".operator", "lte"},
		{"sale.amount_minor", "gte", "-5", "", ""},
		{"sale.amount_minor", "gte", "1e2", ".value", "integer"},
		{"sale.amount_minor", "gte", "1.0", ".value", "integer"},
		{"sale.amount_minor", "gte", `"1"`, ".value", "integer"},
		{"sale.amount_minor", "gte", "null", ".value", "integer"},
		{"sale.amount_minor", "gte", "9223372036854775808", ".value", "integer"},
		{"sale.currency", "eq", `"usd"`, "", ""},
		{"sale.currency", "eq", `"XXX"`, ".value", "ISO 4217"},
		{"sale.currency", "eq", `["USD"]`, ".value", "ISO 4217"},
		{"sale.currency", "in", `["USD","eur"]`, "", ""},
		{"sale.currency", "in", `["USD","nope"]`, ".value[1]", "ISO 4217"},
		{"sale.currency", "in", `"USD"`, ".value", "array"},
		{"sale.currency", "in", `[]`, ".value", "1 to 100"},
		{"sale.currency", "not_in", `[` + many(100, `"USD"`) + `]`, "", ""},
		{"sale.currency", "in", `[` + many(101, `"USD"`) + `]`, ".value", "1 to 100"},
		{"sale.currency", "contains", `"US"`, ".operator", "exists"},
		{"sale.interval", "eq", `"Year"`, ".value", "day, week, month, year"},
		{"sale.billing_type", "eq", `"one_time"`, "", ""},
		{"customer.tracked_by", "in", `["link","magic"]`, ".value[1]", "coupon"},
		{"sale.product_id", "eq", `""`, ".value", "1 to 255"},
		{"sale.product_id", "eq", `"` + strings.Repeat("é", 255) + `"`, "", ""},
		{"sale.product_id", "eq", `"` + strings.Repeat("é", 256) + `"`, ".value", "1 to 255"},
		{"sale.product_id", "gt", `"a"`, ".operator", "starts_with"},
		{"sale.product_id", "exists", `1`, ".value", "true or false"},
		{"partner.id", "eq", `"part_abc"`, "", ""},
		{"partner.id", "eq", `"sample_part_abc"`, "", ""},
		{"partner.id", "eq", `"grp_abc"`, ".value", "part_"},
		{"customer.coupon_id", "in", `["cpn_a","lnk_b"]`, ".value[1]", "cpn_"},
		{"customer.link_id", "neq", `"lnk_"`, ".value", "lnk_"},
		{"partner.group_id", "eq", `"grp_a"`, "", ""},
		{"partner.tag_ids", "eq", `"tag_a"`, ".operator", "in, not_in, exists"},
		{"partner.tag_ids", "in", `["tag_a","x"]`, ".value[1]", "tag_"},
		{"partner.country_code", "eq", `"de"`, "", ""},
		{"customer.country", "eq", `"DEU"`, ".value", "two letters"},
		{"customer.converted_at", "gt", `"2026-02-29"`, ".value", "ISO date"},
		{"customer.converted_at", "gt", `20260101`, ".value", "ISO date"},
		{"customer.converted_at", "eq", `"2026-01-01"`, ".operator", "gt, gte, lt, lte"},
		{"customer.lead_at", "lte", `"2026-01-01T00:00:00+02:00"`, "", ""},
		{"sale.metadata.k", "gt", `"5"`, ".value", "integer"},
		{"sale.metadata.k", "contains", `5`, ".value", "1 to 255"},
		{"sale.metadata.k", "eq", `true`, ".value", "string"},
		{"sale.metadata.k", "eq", `5.5`, ".value", "no fraction"},
		{"sale.metadata.k", "in", `["a",5]`, ".value[1]", "not both"},
		{"sale.metadata.k", "in", `[4,5]`, "", ""},
		{"sale.metadata.k", "matches", `"x"`, ".operator", "contains"},
	} {
		path := c.path
		if path != "" {
			path = "[0]" + path
		}
		check(t, "["+cond(c.field, c.op, c.value)+"]", NewPayment, path, c.message)
	}
}

func TestParseSignup(t *testing.T) {
	t.Parallel()
	refused := set([]string{
		"customer.sales_count", "customer.total_paid_minor", "customer.months_since_conversion",
		"customer.days_since_conversion", "customer.converted_at",
	})
	for _, f := range fields {
		_, problem := fieldOf(f.name, NewSignup)
		bad := refused[f.name] || strings.HasPrefix(f.name, "sale.")
		require.Equal(t, bad, problem != "", f.name)
	}
	check(t, "["+cond("sale.metadata.k", "eq", `"x"`)+"]", NewSignup, "[0].field", "new_signup")
	check(t, "["+cond("sale.currency", "eq", `"USD"`)+"]", NewSignup, "[0].field", "customer.tracked_by")
	check(t, "["+cond("customer.metadata.k", "eq", `"x"`)+"]", NewSignup, "", "")
	_, err := ParseConditions(json.RawMessage("["+cond("x", "eq", `1`)+"]"), NewSignup)
	require.NotContains(t, err.Message, "sale.currency")
}

func TestNeeds(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]Needs{
		"customer.sales_count": NeedCustomerCounters, "partner.leads_count": NeedPartnerCounters, "sale.amount_minor": 0,
	} {
		require.Equal(t, want, parsed(t, cond(field, "gt", "1")).Needs())
	}
	c := parsed(t, `{"any":[`+cond("customer.country", "exists", "true")+`]},`+cond("partner.tag_ids", "exists", "true"))
	require.Equal(t, NeedClickCountry|NeedPartnerTags, c.Needs())
	require.True(t, c.Needs().Has(NeedPartnerTags))
	require.False(t, c.Needs().Has(NeedPartnerCounters))
	require.Equal(t, c.Needs(), NeedsOf([]Flow{{}, {Branches: []Branch{{Conditions: c}}}}))
}

// parsed parses valid items.
func parsed(t require.TestingT, items string) Conditions {
	c, err := ParseConditions(json.RawMessage("["+items+"]"), NewPayment)
	require.Nil(t, err, items)
	return c
}

func FuzzParseConditions(f *testing.F) {
	f.Add(`[` + first1 + `,{"any":[` + cond("sale.metadata.k", "in", `["a"]`) + `]}]`)
	f.Add(`[` + cond("customer.lead_at", "gt", `"2026-01-01"`) + `]`)
	f.Add(`[{"all":[{"any":[` + cond("partner.tag_ids", "not_in", `["tag_a"]`) + `]}]}]`)
	f.Add(`[{"field":"sale.amount_minor","operator":"gt","value":1e2}]`)
	f.Fuzz(func(t *testing.T, raw string) {
		for _, trigger := range []Trigger{NewPayment, NewSignup} {
			c, err := ParseConditions(json.RawMessage(raw), trigger)
			if err != nil {
				require.NotEmpty(t, err.Message)
				continue
			}
			require.True(t, json.Valid([]byte(raw)))
			c.Match(&Facts{})
			c.Match(&Facts{Sale: &SaleFacts{Metadata: json.RawMessage(`{"k":"a"}`)}})
		}
	})
}
