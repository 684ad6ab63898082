package flow_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// when is a list of one condition.
func when(field, operator string, value any) []any {
	return []any{apitest.Condition(field, operator, value)}
}

// setting is the data that the conditions read, if it is not the default.
type setting struct {
	partner, click, customer, sale M
}

var (
	aboutMetadata = setting{
		customer: M{"metadata": M{"plan": "Pro", "seats": 12, "age": "30"}, "identifier": "user-7"},
		sale:     M{"metadata": M{"order.id": "A-1", "n": 5}},
	}
	aboutProduct = setting{sale: M{"product_id": "prod_1", "product_name": "Pro Plan", "interval": "year"}}
	aboutPlace   = setting{partner: M{"country_code": "FR"}, click: M{"country": "de"}}
)

// branchCase is a sale of 100.00, and whether a branch matches it.
type branchCase struct {
	setting
	conditions []any
	match      bool
}

var branchCases = []branchCase{
	{setting{}, []any{}, true},
	{setting{}, when("sale.amount_minor", "gte", 10000), true},
	{setting{}, when("sale.amount_minor", "gt", 10000), false},
	{setting{sale: M{"currency": "EUR"}}, when("sale.amount_minor", "gte", 1), false},
	{setting{sale: M{"tax_minor": 1900}}, when("sale.net_amount_minor", "eq", 8100), true},
	{setting{sale: M{"currency": "EUR"}}, when("sale.currency", "eq", "eur"), true},
	{setting{}, when("sale.currency", "in", []string{"EUR", "GBP"}), false},
	{aboutProduct, when("sale.product_id", "in", []string{"prod_0", "prod_1"}), true},
	{aboutProduct, when("sale.product_id", "eq", "PROD_1"), false},
	{aboutProduct, when("sale.product_name", "contains", "pro pl"), true},
	{aboutProduct, when("sale.product_name", "starts_with", "Plan"), false},
	{aboutProduct, when("sale.billing_type", "eq", "subscription"), true},
	{aboutProduct, when("sale.interval", "not_in", []string{"month", "week"}), true},
	{setting{}, when("sale.interval", "neq", "month"), false}, // missing
	{setting{}, when("sale.product_id", "not_in", []string{"x"}), false},
	{setting{}, when("sale.product_id", "exists", false), true},
	{setting{}, when("sale.product_id", "exists", true), false},
	{setting{}, when("sale.is_first_sale", "eq", true), true},
	{setting{}, when("sale.is_first_sale", "eq", false), false},
	{aboutMetadata, when("sale.metadata.order.id", "eq", "A-1"), true},
	{aboutMetadata, when("sale.metadata.order.id", "eq", "a-1"), false},
	{aboutMetadata, when("sale.metadata.n", "gt", 4), true},
	{aboutMetadata, when("sale.metadata.n", "neq", "5"), false}, // a text against a number never matches
	{aboutMetadata, when("customer.metadata.seats", "gte", 12), true},
	{aboutMetadata, when("customer.metadata.age", "lt", 31), true},
	{aboutMetadata, when("customer.metadata.plan", "ends_with", "ro"), true},
	{aboutMetadata, when("customer.metadata.none", "neq", "x"), false},
	{aboutMetadata, when("customer.metadata.none", "exists", false), true},
	{aboutMetadata, when("customer.identifier", "eq", "user-7"), true},
	{setting{}, when("customer.sales_count", "eq", 1), true},
	{setting{}, when("customer.total_paid_minor", "eq", 10000), true},
	{setting{}, when("customer.months_since_conversion", "eq", 0), true},
	{setting{}, when("customer.days_since_conversion", "gt", 0), false},
	{setting{}, when("customer.days_since_lead", "eq", 0), true},
	{setting{}, when("customer.lead_at", "gte", "2026-09-01"), true},
	{setting{}, when("customer.lead_at", "lt", "2026-09-01T12:00:00Z"), false},
	{setting{}, when("customer.converted_at", "lte", "2026-09-01T12:00:00Z"), true},
	{setting{}, when("customer.tracked_by", "eq", "api"), true},
	{aboutPlace, when("customer.tracked_by", "in", []string{"link"}), true},
	{aboutPlace, when("customer.country", "eq", "DE"), true},
	{aboutPlace, when("customer.country", "neq", "FR"), true},
	{setting{}, when("customer.country", "neq", "FR"), false},
	{aboutPlace, when("customer.link_id", "exists", false), true},
	{setting{}, when("customer.coupon_id", "exists", true), false},
	{aboutPlace, when("partner.country_code", "in", []string{"fr", "be"}), true},
	{setting{}, when("partner.leads_count", "eq", 1), true},
	{setting{}, when("partner.customers_count", "eq", 1), true},
	{setting{}, when("partner.sales_count", "lte", 1), true},
	{setting{}, when("partner.revenue_minor", "eq", 10000), true},
	{setting{}, when("partner.commissions_minor", "eq", 0), true},
	{setting{}, []any{apitest.Condition("sale.is_first_sale", "eq", true), apitest.Condition("sale.amount_minor", "lt", 1)}, false},
	{setting{}, []any{M{"any": []any{apitest.Condition("sale.amount_minor", "lt", 1), apitest.Condition("sale.is_first_sale", "eq", true)}}}, true},
	{setting{}, []any{M{"all": []any{apitest.Condition("sale.amount_minor", "lt", 1), apitest.Condition("sale.is_first_sale", "eq", true)}}}, false},
	{
		setting{},
		[]any{
			M{
				"any": []any{
					apitest.Condition("sale.amount_minor", "lt", 1),
					M{"all": []any{apitest.Condition("sale.currency", "eq", "USD"), apitest.Condition("sale.amount_minor", "eq", 10000)}},
				},
			},
		},
		true,
	},
}

// buyer returns the customer of the case. The customer has a click if the case has a handle.
func (g setting) buyer(s *apitest.Server, program, partner, handle string) string {
	s.T.Helper()
	body := M{"program_id": program}
	if g.click != nil {
		body["click_id"] = s.Click(program, handle, g.click).String("id")
	} else {
		body["partner_id"] = partner
	}
	maps.Copy(body, g.customer)
	return s.Must(201, s.Post("/v1/customers", body)).String("id")
}

// TestBranchConditions: each condition gets one sale of 100.00. The branch pays 50 %, and the flow
// itself 10 %.
func TestBranchConditions(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	for _, c := range branchCases {
		name := fmt.Sprintf("%v of %v", c.conditions, c.setting)
		program, handle := s.Program(), apitest.Unique("p-")
		partner := s.Partner(program, M{"handle": handle}, c.partner)
		flow := s.Must(201, s.Post("/v1/flows", M{
			"program_id": program, "name": "F", "rate_type": "percent", "rate_value": 1000,
			"branches": []any{apitest.Branch(5000, c.conditions...)},
		}))
		buyer := c.buyer(s, program, partner, handle)
		foretold := preview(s, M{"program_id": program, "customer_id": buyer}, c.sale)
		sale := s.Sale(program, buyer, M{"amount_minor": 10000}, c.sale)
		k, ok := s.SoleCommission(program, sale.String("id"))
		require.True(t, ok, name)
		require.Equal(t, flow.String("id"), k.String("flow_id"), name)
		for _, member := range []string{
			"amount_minor", "currency", "revenue_minor", "flow_id", "flow_branch_id", "status", "mature_at",
		} {
			require.Equal(t, k.Body[member], foretold.Body[member], "%s: %s of the preview", name, member)
		}
		if c.match {
			require.EqualValues(t, 5000, k.Int("amount_minor"), name)
			require.Equal(t, flow.Body["branches"].([]any)[0].(M)["id"], k.Body["flow_branch_id"], name)
		} else {
			require.EqualValues(t, 1000, k.Int("amount_minor"), name)
			require.Nil(t, k.Body["flow_branch_id"], name)
		}
	}
}

// preview returns the commission that a payment of 100.00 would earn.
func preview(s *apitest.Server, more ...M) apitest.Answer {
	s.T.Helper()
	body := M{"amount_minor": 10000, "currency": "USD"}
	for _, m := range more {
		maps.Copy(body, m)
	}
	return s.Must(200, s.Post("/v1/flows/preview", body))
}

// pays records a sale of 100.00 and returns its commission, which must equal the preview.
func pays(s *apitest.Server, program, customer string, more ...M) int64 {
	s.T.Helper()
	foretold := preview(s, append([]M{{"program_id": program, "customer_id": customer}}, more...)...)
	sale := s.Sale(program, customer, append([]M{{"amount_minor": 10000}}, more...)...)
	k, ok := s.SoleCommission(program, sale.String("id"))
	require.Equal(s.T, ok, sale.String("activity_outcome") == "commission_created")
	require.Equal(s.T, sale.Body["warnings"], foretold.Body["warnings"])
	if ok {
		require.Equal(s.T, k.Int("amount_minor"), foretold.Int("amount_minor"))
	}
	return k.Int("amount_minor")
}

// TestFirstYearAndExclusion is the example of decisions, 3.1.
func TestFirstYearAndExclusion(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	customer := s.Customer(program, s.Partner(program))
	s.Flow(program, M{"branches": []any{
		apitest.Branch(0, apitest.Condition("sale.product_id", "in", []string{"prod_addon"})),
		apitest.Branch(5000, apitest.Condition("customer.months_since_conversion", "lt", 12)),
	}})
	s.Flow(program, M{"rate_value": 100}) // the older flow is first; this one is never evaluated
	at := func(when string) M { return M{"occurred_at": when} }
	require.EqualValues(t, 5000, pays(s, program, customer, at("2025-01-31T10:00:00Z")))
	require.EqualValues(t, 5000, pays(s, program, customer, at("2025-12-31T10:00:00Z")))
	require.EqualValues(t, 5000, pays(s, program, customer, at("2026-01-30T23:59:59Z")))
	require.EqualValues(t, 2000, pays(s, program, customer, at("2026-01-31T10:00:00Z")))
	excluded := s.Sale(program, customer, M{"product_id": "prod_addon"}, at("2025-03-01T00:00:00Z"))
	require.Equal(t, "sale_recorded", excluded.String("activity_outcome"))
	require.Equal(t, "no_commission_from_rules", excluded.Body["warnings"].([]any)[0].(M)["code"])
	_, ok := s.SoleCommission(program, excluded.String("id"))
	require.False(t, ok, "nothing falls through to the next branch or flow")
}

// TestCounterAndTagConditions: counters include the sale itself.
func TestCounterAndTagConditions(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program)
	one, two := s.Customer(program, partner), s.Customer(program, partner)
	vip := s.Must(201, s.Post("/v1/tags", M{"program_id": program, "name": "VIP"})).String("id")
	other := s.Must(201, s.Post("/v1/tags", M{"program_id": program, "name": "Other"})).String("id")
	flow := s.Flow(program)
	rule := func(conditions ...any) {
		s.Must(200, s.Post("/v1/flows/"+flow, M{"branches": []any{apitest.Branch(5000, conditions...)}}))
	}
	rule(apitest.Condition("partner.sales_count", "gte", 3))
	require.EqualValues(t, 2000, pays(s, program, one))
	require.EqualValues(t, 2000, pays(s, program, two))
	require.EqualValues(t, 5000, pays(s, program, one))
	rule(apitest.Condition("customer.sales_count", "eq", 2))
	require.EqualValues(t, 5000, pays(s, program, two))
	rule(apitest.Condition("customer.total_paid_minor", "eq", 30000))
	require.EqualValues(t, 5000, pays(s, program, two))
	rule(apitest.Condition("partner.revenue_minor", "eq", 50000))
	require.EqualValues(t, 2000, pays(s, program, one, M{"currency": "EUR"}), "money of another currency does not compare")
	rule(apitest.Condition("customer.total_paid_minor", "eq", 30000), apitest.Condition("customer.sales_count", "eq", 4))
	require.EqualValues(t, 5000, pays(s, program, one), "totals count the program's currency, counts count all")
	rule(apitest.Condition("partner.commissions_minor", "eq", 24000), apitest.Condition("partner.customers_count", "eq", 2),
		apitest.Condition("partner.leads_count", "eq", 2))
	require.EqualValues(t, 5000, pays(s, program, two), "2000+2000+5000+5000+5000+5000, without the EUR one and this one")
	rule(apitest.Condition("partner.tag_ids", "in", []string{vip, other}))
	require.EqualValues(t, 2000, pays(s, program, one))
	s.Must(200, s.Post("/v1/partners/"+partner, M{"tag_ids": []string{vip}}))
	require.EqualValues(t, 5000, pays(s, program, one))
	rule(apitest.Condition("partner.tag_ids", "not_in", []string{vip}))
	require.EqualValues(t, 2000, pays(s, program, one))
}

// TestWhichFlowPays: flows are ordered by priority, then partner, group and program, then age. One
// flow pays, and a rate of zero also counts (decisions, 133, 134).
func TestWhichFlowPays(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	group := s.Must(201, s.Post("/v1/groups", M{"program_id": program, "name": "G"})).String("id")
	other := s.Must(201, s.Post("/v1/groups", M{"program_id": program, "name": "H"})).String("id")
	partner := s.Partner(program, M{"group_id": group})
	customer := s.Customer(program, partner)
	flow := func(rate int, more M) string {
		s.Clock.Advance(time.Minute)
		return s.Flow(program, M{"rate_value": rate}, more)
	}
	set := func(id string, body M) { s.Must(200, s.Post("/v1/flows/"+id, body)) }
	flow(9000, M{"group_id": other, "priority": 0})
	flow(8000, M{"partner_id": s.Partner(program), "priority": 0})
	flow(7000, M{"status": "inactive", "priority": 0})
	wide := flow(1000, nil)
	flow(1100, nil)
	require.EqualValues(t, 1000, pays(s, program, customer), "the oldest")
	grouped := flow(2000, M{"group_id": group})
	require.EqualValues(t, 2000, pays(s, program, customer), "group beats program")
	own := flow(3000, M{"partner_id": partner})
	require.EqualValues(t, 3000, pays(s, program, customer), "partner beats group")
	set(wide, M{"priority": 99})
	require.EqualValues(t, 1000, pays(s, program, customer), "priority beats specificity")
	set(wide, M{"rate_value": 0})
	require.EqualValues(t, 0, pays(s, program, customer), "nothing falls through")
	set(wide, M{"status": "inactive"})
	require.EqualValues(t, 3000, pays(s, program, customer))
	s.Must(200, s.Delete("/v1/flows/"+own))
	require.EqualValues(t, 2000, pays(s, program, customer))
	set(grouped, M{"branches": []any{apitest.Branch(100, apitest.Condition("sale.is_first_sale", "eq", true)), apitest.Branch(200), apitest.Branch(300)}})
	require.EqualValues(t, 200, pays(s, program, customer), "the first branch that matches")
}

func TestSwitchGroup(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	gold := s.Must(201, s.Post("/v1/groups", M{"program_id": program, "name": "Gold"})).String("id")
	partner := s.Partner(program)
	customer := s.Customer(program, partner)
	s.Flow(program, M{"rate_value": 1000})
	s.Flow(program, M{"rate_value": 3000, "group_id": gold})
	s.Must(201, s.Post("/v1/flows", M{
		"program_id": program, "name": "Switch", "action": "switch_group", "target_group_id": gold,
		"branches": []any{apitest.Branch(0, apitest.Condition("partner.sales_count", "gte", 2))},
	}))
	group := func() string { return s.Get("/v1/partners/" + partner).String("group_id") }
	require.EqualValues(t, 1000, pays(s, program, customer))
	require.NotEqual(t, gold, group())
	before := len(s.Events(program))
	require.EqualValues(t, 1000, pays(s, program, customer), "from the next event on")
	require.Equal(t, gold, group())
	recorded := s.Events(program)[before:]
	last := recorded[len(recorded)-1]
	require.Equal(t, "affiliate.updated", last.String("type"))
	require.Equal(t, M{"partner_id": partner, "status": "active", "reason": nil}, last.Body["data"])
	before = len(s.Events(program))
	require.EqualValues(t, 3000, pays(s, program, customer))
	for _, e := range s.Events(program)[before:] {
		require.NotEqual(t, "affiliate.updated", e.String("type"), "the partner is there already")
	}

	fresh := s.Program()
	start := s.Must(201, s.Post("/v1/groups", M{"program_id": fresh, "name": "Start"})).String("id")
	newcomer := s.Partner(fresh)
	s.Must(201, s.Post("/v1/flows", M{
		"program_id": fresh, "name": "S", "trigger": "new_signup", "action": "switch_group", "target_group_id": start,
	}))
	s.Customer(fresh, newcomer)
	require.Equal(t, start, s.Get("/v1/partners/"+newcomer).String("group_id"), "without branches it always fires")
}

func TestSignupCommissions(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program, M{"handle": "ann"})
	flow := s.Must(201, s.Post("/v1/flows", M{
		"program_id": program, "name": "S", "trigger": "new_signup", "rate_type": "fixed", "rate_value": 500,
		"branches": []any{
			M{"conditions": []any{apitest.Condition("customer.country", "eq", "US")}, "rate_type": "fixed", "rate_value": 900},
			M{"conditions": []any{apitest.Condition("customer.metadata.free", "eq", "yes")}, "rate_type": "fixed", "rate_value": 0},
		},
	}))
	commissions := func() []M { return s.Must(200, s.Get("/v1/commissions?program_id="+program)).Data() }
	before := len(s.Events(program))
	plain := s.Customer(program, partner)
	require.Len(t, commissions(), 1)
	k := apitest.Answer{Body: commissions()[0]}
	require.EqualValues(t, 500, k.Int("amount_minor"))
	require.Equal(t, plain, k.String("customer_id"))
	require.Equal(t, "referral", k.String("kind"))
	require.Equal(t, "due", k.String("status"))
	require.Equal(t, "USD", k.String("currency"))
	require.Equal(t, flow.String("id"), k.String("flow_id"))
	require.Equal(t, "2026-09-01T12:00:00.000Z", k.String("mature_at"))
	for _, name := range []string{"sale_id", "flow_branch_id", "revenue_minor", "payout_id"} {
		require.Nil(t, k.Body[name], name)
	}
	recorded := s.Events(program)[before:]
	require.Len(t, recorded, 1)
	require.Equal(t, "commission.created", recorded[0].String("type"))
	require.Equal(t, flow.String("id"), recorded[0].Body["data"].(M)["rule_id"])
	require.Nil(t, recorded[0].Body["data"].(M)["sale_id"])

	s.Clock.Advance(time.Minute)
	click := s.Click(program, "ann", M{"country": "US"})
	s.Must(201, s.Post("/v1/customers", M{"program_id": program, "click_id": click.String("id")}))
	require.Len(t, commissions(), 2)
	require.EqualValues(t, 900, apitest.Answer{Body: commissions()[0]}.Int("amount_minor"))
	require.Equal(t, flow.Body["branches"].([]any)[0].(M)["id"], commissions()[0]["flow_branch_id"])
	s.Customer(program, partner, M{"metadata": M{"free": "yes"}})
	s.Customer(program, partner, M{"status": "suspended"})
	require.Len(t, commissions(), 2, "neither a rate of nothing nor a suspended customer pays")
	s.Sale(program, plain)
	require.Len(t, commissions(), 2, "a sale asks the flows of payments alone")
}

// TestLinkRateOverride: a link's rate overrides the rates of the flow and its branches (decisions,
// 77).
func TestLinkRateOverride(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program, M{"handle": "ann"})
	link := s.Must(201,
		s.Post("/v1/links",
			M{"program_id": program, "partner_id": partner, "destination_url": "https://shop.example/"})).String("id")
	flow := s.Flow(program, M{"branches": []any{apitest.Branch(5000, apitest.Condition("sale.is_first_sale", "eq", true))}})
	override := func(rate string) {
		_, err := s.Pool.Exec(t.Context(), "UPDATE links SET rate_override = $1::json WHERE id = $2", rate, link)
		require.NoError(t, err)
	}
	click := s.Click(program, "ann")
	customer := s.Must(201, s.Post("/v1/customers", M{"program_id": program, "click_id": click.String("id")})).String("id")
	override(`{"rate_type":"percent","rate_value":3000}`)
	shown := s.Get("/v1/links/" + link).Body["rate_override"].(M)
	require.Equal(t, "percent", shown["rate_type"])
	sale := s.Sale(program, customer, M{"amount_minor": 10000})
	k, ok := s.SoleCommission(program, sale.String("id"))
	require.True(t, ok)
	require.EqualValues(t, 3000, k.Int("amount_minor"), "beats the branch")
	require.Equal(t, flow, k.String("flow_id"))
	override(`{"rate_type":"fixed","rate_value":777}`)
	require.EqualValues(t, 777, pays(s, program, customer), "beats the flow")
	require.EqualValues(t, 5000, pays(s, program, s.Customer(program, partner)), "only customers of the link")
}
