package portal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// TestNextGroup shows the progress to a group with a better rate, which the partner joins with more customers.
func TestNextGroup(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	vip := s.Must(201, s.Post("/v1/groups", M{"program_id": program, "name": "VIP"})).String("id")
	s.Flow(program) // 20 %
	better := s.Flow(program, M{"group_id": vip, "rate_value": 3500})
	rule := s.Must(201, s.Post("/v1/flows", M{
		"program_id": program, "name": "To VIP", "action": "switch_group", "target_group_id": vip,
		"branches": []any{apitest.Branch(0, apitest.Condition("partner.customers_count", "gte", 3))},
	})).String("id")
	partner := s.Partner(program)
	b := signIn(s, partner)
	s.Sale(program, s.Customer(program, partner))
	page := b.get("/portal")
	require.Contains(t, page, "Next level: VIP")
	require.Contains(t, page, "2 more customers until you earn 35 % of every payment.")
	require.Contains(t, page, `<progress max="3" value="1"`)

	set := func(flow string, body M) { s.Must(200, s.Post("/v1/flows/"+flow, body)) }
	set(better, M{"branches": []any{apitest.Branch(5000, apitest.Condition("sale.is_first_sale", "eq", true))}})
	page = b.get("/portal")
	require.Contains(t, page, "2 more customers to VIP.")
	require.Contains(t, page, "You earn 50 % on a customer’s first payment.")
	set(better, M{"branches": []any{}, "rate_value": 1000})
	require.NotContains(t, b.get("/portal"), "Next level", "the group's rate is no better")
	set(better, M{"rate_value": 3500})
	set(rule, M{"branches": []any{apitest.Branch(0, apitest.Condition("partner.revenue_minor", "gte", 3))}})
	require.NotContains(t, b.get("/portal"), "Next level", "more than the number of customers decides")
	set(rule, M{"branches": []any{apitest.Branch(0, apitest.Condition("partner.customers_count", "gte", 2))}})
	require.Contains(t, b.get("/portal"), "1 more customer until you earn 35 %")
	s.Sale(program, s.Customer(program, partner))
	require.Equal(t, vip, s.Get("/v1/partners/"+partner).String("group_id"), "the rule did what the page said")
	require.NotContains(t, b.get("/portal"), "Next level")
}
