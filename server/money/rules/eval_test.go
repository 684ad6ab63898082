package rules

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sampleFacts is a second payment with every fact set.
func sampleFacts() *Facts {
	return &Facts{
		ProgramCurrency: "USD",
		Sale: &SaleFacts{
			AmountMinor: 5000, NetAmountMinor: 4000, Currency: "USD", ProductID: new("Pro"), ProductName: new("Pro Plan"),
			BillingType: "subscription", Interval: new("year"), OccurredAt: when("2026-03-31T12:00:00Z"),
			Metadata: json.RawMessage(`{"n" : 12.5 , "s":"12","t":"Gold","b":true,"z":null,"o":{"a":1},"pad":"007"}`),
		},
		Customer: CustomerFacts{
			ConvertedAt: new(when("2026-01-31T18:00:00Z")), LeadAt: new(when("2026-01-01")), Country: new("de"),
			TrackedBy: "link", LinkID: new("lnk_a"), Identifier: new("Ann"), Metadata: json.RawMessage(`{"a.b":"x"}`),
			Counters: &CustomerCounters{SalesCount: 2, TotalPaidMinor: 9000},
		},
		Partner: PartnerFacts{
			ID: "part_a", GroupID: new("grp_a"), TagIDs: []string{"tag_a", "tag_b"}, CountryCode: new("US"),
			Counters: &PartnerCounters{LeadsCount: 1, CustomersCount: 2, SalesCount: 3, RevenueMinor: 400, CommissionsMinor: 50},
		},
	}
}

type matchCase struct {
	field, op, value string
	want             bool
}

func runMatches(t *testing.T, f *Facts, cases []matchCase) {
	t.Helper()
	for _, c := range cases {
		item := cond(c.field, c.op, c.value)
		require.Equal(t, c.want, parsed(t, item).Match(f), item)
	}
}

func TestMatchFields(t *testing.T) {
	t.Parallel()
	runMatches(t, sampleFacts(), []matchCase{
		{"sale.amount_minor", "eq", "5000", true}, {"sale.net_amount_minor", "lt", "4000", false},
		{"sale.net_amount_minor", "lte", "4000", true}, {"sale.amount_minor", "neq", "5000", false},
		{"sale.currency", "eq", `"usd"`, true}, {"sale.currency", "not_in", `["EUR"]`, true},
		{"sale.product_id", "eq", `"pro"`, false}, {"sale.product_id", "eq", `"Pro"`, true},
		{"sale.product_name", "eq", `"pro plan"`, true}, {"sale.product_name", "starts_with", `"PRO"`, true},
		{"sale.product_name", "ends_with", `"PLAN"`, true}, {"sale.product_name", "contains", `"x"`, false},
		{"sale.billing_type", "eq", `"subscription"`, true}, {"sale.interval", "in", `["month","year"]`, true},
		{"sale.is_first_sale", "eq", "false", true}, {"sale.is_first_sale", "eq", "true", false},
		{"customer.sales_count", "gte", "2", true}, {"customer.total_paid_minor", "gt", "9000", false},
		{"customer.months_since_conversion", "eq", "2", true}, {"customer.days_since_conversion", "eq", "58", true},
		{"customer.days_since_lead", "eq", "89", true},
		{"customer.converted_at", "gt", `"2026-01-31"`, true}, {"customer.lead_at", "lte", `"2026-01-01"`, true},
		{"customer.lead_at", "lt", `"2026-01-01"`, false}, {"customer.lead_at", "gte", `"2026-01-01T01:00:00+02:00"`, true},
		{"customer.country", "eq", `"DE"`, true}, {"customer.country", "in", `["us","de"]`, true},
		{"customer.tracked_by", "neq", `"coupon"`, true}, {"customer.link_id", "eq", `"lnk_A"`, false},
		{"customer.identifier", "eq", `"ann"`, false}, {"customer.metadata.a.b", "eq", `"x"`, true},
		{"partner.id", "in", `["part_a"]`, true}, {"partner.group_id", "neq", `"grp_a"`, false},
		{"partner.tag_ids", "in", `["tag_b","tag_x"]`, true}, {"partner.tag_ids", "in", `["tag_x"]`, false},
		{"partner.tag_ids", "not_in", `["tag_x"]`, true}, {"partner.tag_ids", "not_in", `["tag_a","tag_x"]`, false},
		{"partner.tag_ids", "exists", "true", true}, {"partner.country_code", "eq", `"us"`, true},
		{"partner.leads_count", "eq", "1", true}, {"partner.customers_count", "eq", "2", true},
		{"partner.sales_count", "eq", "3", true}, {"partner.revenue_minor", "eq", "400", true},
		{"partner.commissions_minor", "eq", "50", true},
	})
}

func TestMatchMetadata(t *testing.T) {
	t.Parallel()
	runMatches(t, sampleFacts(), []matchCase{
		{"sale.metadata.n", "gt", "12", true}, {"sale.metadata.n", "lt", "13", true}, {"sale.metadata.n", "eq", "12", false},
		{"sale.metadata.n", "eq", `"12.5"`, false}, {"sale.metadata.n", "neq", `"x"`, false},
		{"sale.metadata.n", "neq", "1", true},
		{"sale.metadata.s", "eq", "12", true}, {"sale.metadata.s", "eq", `"12"`, true},
		{"sale.metadata.s", "in", "[1,12]", true},
		{"sale.metadata.t", "eq", `"gold"`, false}, {"sale.metadata.t", "contains", `"ol"`, true},
		{"sale.metadata.t", "neq", "5", false},
		{"sale.metadata.t", "not_in", "[5]", false}, {"sale.metadata.t", "not_in", `["x"]`, true},
		{"sale.metadata.pad", "eq", "7", false}, {"sale.metadata.b", "eq", `"true"`, false},
		{"sale.metadata.b", "neq", `"x"`, false},
		{"sale.metadata.b", "exists", "true", true}, {"sale.metadata.o", "exists", "true", true},
		{"sale.metadata.o", "neq", `"x"`, false},
		{"sale.metadata.z", "exists", "false", true}, {"sale.metadata.z", "neq", `"x"`, false},
		{"sale.metadata.T", "exists", "true", false}, {"customer.metadata.a", "exists", "true", false},
	})
}

// A missing value fails every operator except `exists: false`.
func TestMatchMissing(t *testing.T) {
	t.Parallel()
	facts := &Facts{Sale: &SaleFacts{Currency: "USD"}, ProgramCurrency: "USD"}
	runMatches(t, facts, []matchCase{
		{"sale.product_id", "neq", `"x"`, false}, {"sale.product_id", "not_in", `["x"]`, false},
		{"sale.product_id", "exists", "false", true}, {"sale.product_id", "exists", "true", false},
		{"sale.product_name", "contains", `"x"`, false}, {"sale.interval", "neq", `"day"`, false},
		{"customer.months_since_conversion", "lt", "12", false}, {"customer.days_since_lead", "neq", "5", false},
		{"customer.sales_count", "lt", "5", false}, {"customer.total_paid_minor", "neq", "5", false},
		{"customer.converted_at", "lt", `"2099-01-01"`, false}, {"customer.country", "neq", `"DE"`, false},
		{"partner.tag_ids", "not_in", `["tag_a"]`, false}, {"partner.tag_ids", "exists", "false", true},
		{"partner.revenue_minor", "lt", "5", false}, {"sale.metadata.x", "neq", `"x"`, false},
		{"customer.metadata.x", "exists", "false", true},
	})
}

func TestMatchForeignCurrency(t *testing.T) {
	t.Parallel()
	f := sampleFacts()
	f.Sale.Currency = "EUR"
	runMatches(t, f, []matchCase{
		{"sale.amount_minor", "eq", "5000", false}, {"sale.amount_minor", "neq", "1", false},
		{"sale.net_amount_minor", "gt", "0", false},
		{"customer.total_paid_minor", "gt", "0", false}, {"partner.revenue_minor", "gt", "0", false},
		{"partner.commissions_minor", "gt", "0", false}, {"partner.sales_count", "eq", "3", true},
		{"sale.currency", "eq", `"EUR"`, true},
	})
}

func TestMatchSignup(t *testing.T) {
	t.Parallel()
	f := sampleFacts()
	f.Sale, f.Customer.ConvertedAt = nil, nil
	runMatches(t, f, []matchCase{
		{"partner.revenue_minor", "eq", "400", true}, {"customer.days_since_lead", "eq", "0", true},
		{"sale.is_first_sale", "eq", "false", false}, {"sale.amount_minor", "gte", "0", false},
		{"sale.metadata.n", "exists", "false", true}, {"customer.days_since_conversion", "gte", "0", false},
	})
}

func TestMatchFirstSale(t *testing.T) {
	t.Parallel()
	f := sampleFacts()
	f.Sale.IsFirstSale = true
	first := []matchCase{
		{"customer.months_since_conversion", "eq", "0", true}, {"customer.days_since_conversion", "eq", "0", true},
	}
	runMatches(t, f, first)
	f.Customer.ConvertedAt = nil
	runMatches(t, f, first)
}

func TestMatchGroups(t *testing.T) {
	t.Parallel()
	yes, no := cond("sale.is_first_sale", "eq", "false"), first1
	for items, want := range map[string]bool{
		"": true, yes: true, no: false, yes + "," + no: false,
		`{"any":[` + no + `,` + yes + `]}`:                       true,
		`{"any":[` + no + `]}`:                                   false,
		`{"all":[` + yes + `,` + no + `]}`:                       false,
		`{"any":[` + no + `,{"all":[` + yes + `,` + yes + `]}]}`: true,
		yes + `,{"any":[{"all":[` + no + `]}]}`:                  false,
	} {
		require.Equal(t, want, parsed(t, items).Match(sampleFacts()), items)
	}
	require.True(t, Conditions{}.Match(&Facts{}))
}

// A text long enough for an index gives the same results.
func TestMatchLongText(t *testing.T) {
	t.Parallel()
	for _, length := range []int{longText - 3, longText + 1, 16 << 10} {
		f := sampleFacts()
		f.Sale.Metadata = json.RawMessage(`{"t":"` + strings.Repeat("a", length) + `né"}`)
		runMatches(t, f, []matchCase{
			{"sale.metadata.t", "contains", `"aané"`, true}, {"sale.metadata.t", "contains", `"é"`, true},
			{"sale.metadata.t", "contains", `"aan"`, true},
			{"sale.metadata.t", "contains", `"éa"`, false}, {"sale.metadata.t", "contains", `"b"`, false},
			{"sale.metadata.t", "ends_with", `"né"`, true},
		})
	}
}
