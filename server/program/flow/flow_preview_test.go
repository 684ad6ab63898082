package flow_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// TestFlowPreview: a preview explains in words the commission of a payment, and records nothing.
func TestFlowPreview(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program, M{"handle": "ada"})
	s.Flow(program, M{"name": "Creators", "rate_value": 1250, "branches": []any{
		M{"label": "First month", "conditions": when("customer.sales_count", "eq", 1), "rate_type": "percent", "rate_value": 5000},
		M{"conditions": when("sale.product_id", "eq", "box"), "rate_type": "fixed", "rate_value": 300},
	}})
	customer := s.Customer(program, partner)
	says := func(want string, more ...M) {
		t.Helper()
		require.Equal(t, want, preview(s, append([]M{{"program_id": program}}, more...)...).String("explanation"))
	}
	newcomer, existing := M{"partner_id": partner}, M{"customer_id": customer}
	const half = "A sale of 100.00 USD would pay 50.00 USD: 50 % of 100.00 USD, by the branch First month of the flow Creators."
	says(half, newcomer)
	says(half, existing)
	s.Sale(program, customer)
	says(half, newcomer)
	says("A sale of 100.00 USD would pay 12.50 USD: 12.5 % of 100.00 USD, by the flow Creators.", existing)
	says("A sale of 100.00 USD would pay 3.00 USD: a fixed amount, by branch 2 of the flow Creators.", existing, M{"product_id": "box"})
	nobody := s.Must(201, s.Post("/v1/sales", M{
		"program_id": program, "customer_id": s.Customer(program, partner), "external_charge_id": "c", "amount_minor": 1,
		"currency": "USD",
	}))
	require.Equal(t, "sale", nobody.String("object"))
	s.Must(200, s.Post("/v1/partners/"+partner, M{"status": "suspended"}))
	says("A sale of 100.00 USD would pay nothing. The partner is suspended; its customers' sales pay nothing.", existing)
	none := preview(s, M{"program_id": program}, newcomer)
	require.Equal(t, []any{nil, nil, nil, "no_commission_from_rules"}, []any{
		none.Body["flow_id"], none.Body["rate_type"], none.Body["mature_at"], none.Body["warnings"].([]any)[0].(M)["code"],
	})
	require.EqualValues(t, 2, s.Get("/v1/sales?program_id="+program).Int("total_count"))
}

// TestFlowPreviewOfTheFirst: a preview counts a new customer as a sale would.
func TestFlowPreviewOfTheFirst(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program)
	s.Flow(program, M{"branches": []any{
		M{"label": "First lead", "conditions": when("partner.leads_count", "eq", 1), "rate_type": "percent", "rate_value": 5000},
	}})
	says := func(who M) string { return preview(s, M{"program_id": program}, who).String("explanation") }
	before := says(M{"partner_id": partner})
	require.Contains(t, before, "First lead")
	require.Equal(t, before, says(M{"customer_id": s.Customer(program, partner)}))
}

// TestFlowPreviewOfALater: a preview counts the earlier payments of a new customer, and names the flow that decides even
// if it pays nothing.
func TestFlowPreviewOfALater(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program)
	flow := s.Flow(program, M{"branches": []any{
		M{"label": "Third", "conditions": when("customer.sales_count", "eq", 3), "rate_type": "percent", "rate_value": 3000},
		M{"label": "Paid", "conditions": when("customer.total_paid_minor", "eq", 40000), "rate_type": "percent", "rate_value": 4000},
		M{"label": "First", "conditions": when("sale.is_first_sale", "eq", true), "rate_type": "percent", "rate_value": 1000},
		M{"label": "Old", "conditions": when("customer.months_since_conversion", "eq", 7), "rate_type": "percent", "rate_value": 0},
	}})
	pays := func(more M) apitest.Answer {
		t.Helper()
		return preview(s, M{"program_id": program, "partner_id": partner}, more)
	}
	for want, more := range map[int64]M{
		1000: {}, 2000: {"payment_number": 2}, 3000: {"payment_number": 3}, 4000: {"payment_number": 4, "customer_months": 7},
	} {
		require.Equal(t, want, pays(more).Int("amount_minor"), more)
	}
	none := pays(M{"customer_months": 7})
	require.Zero(t, none.Int("amount_minor"))
	require.Nil(t, none.Body["flow_id"])
	require.Equal(t, flow, none.String("deciding_flow_id"))
	require.NotEmpty(t, none.Body["deciding_flow_branch_id"])
	require.Nil(t, pays(M{"payment_number": 2}).Body["deciding_flow_branch_id"])
	for day := 28; day <= 31; day++ { // months end on different days
		at := M{"customer_months": 7, "occurred_at": fmt.Sprintf("2026-07-%dT12:00:00Z", day)}
		require.NotEmpty(t, pays(at).Body["deciding_flow_branch_id"], at)
	}
	s.Must(200, s.Post("/v1/partners/"+partner, M{"status": "suspended"}))
	require.Nil(t, pays(M{}).Body["deciding_flow_id"])
}

// TestFlowPreviewCountsEarlier: the earlier payments of a new customer count for its partner, as a sale would count them.
func TestFlowPreviewCountsEarlier(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program)
	for _, c := range []struct {
		field string
		value int64
	}{{"customers_count", 1}, {"sales_count", 3}, {"revenue_minor", 30000}} {
		flow := s.Flow(program, M{"branches": []any{
			M{"conditions": when("partner."+c.field, "eq", c.value), "rate_type": "percent", "rate_value": 5000},
		}})
		third := preview(s, M{"program_id": program, "partner_id": partner}, M{"payment_number": 3})
		require.EqualValues(t, 5000, third.Int("amount_minor"), c.field)
		s.Must(200, s.Post("/v1/flows/"+flow, M{"status": "inactive"}))
	}
}

func TestFlowPreviewRefusals(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	elsewhere := s.Program()
	partner := s.Partner(elsewhere)
	refused := func(status int, code, param string, more M) {
		t.Helper()
		body := M{"program_id": program, "amount_minor": 100, "currency": "USD"}
		maps.Copy(body, more)
		s.Refused(status, code, param, s.Post("/v1/flows/preview", body))
	}
	refused(400, "parameter_missing", "customer_id", nil)
	refused(400, "parameters_exclusive", "partner_id", M{"customer_id": s.Customer(elsewhere, partner), "partner_id": partner})
	refused(400, "invalid_reference", "partner_id", M{"partner_id": partner})
	refused(404, "resource_not_found", "partner_id", M{"partner_id": "part_01kb2m4q8e7v9t3n5x6c0d1f2g"})
	refused(404, "resource_not_found", "customer_id", M{"customer_id": "cus_01kb2m4q8e7v9t3n5x6c0d1f2g"})
	refused(404, "resource_not_found", "program_id", M{"program_id": "prg_01kb2m4q8e7v9t3n5x6c0d1f2g", "partner_id": partner})
	refused(400, "parameters_exclusive", "payment_number", M{"customer_id": s.Customer(elsewhere, partner), "payment_number": 2})
	refused(400, "parameters_exclusive", "customer_months", M{"customer_id": s.Customer(elsewhere, partner), "customer_months": 0})
	refused(400, "parameter_invalid", "customer_months", M{"partner_id": partner, "payment_number": 1, "customer_months": 1})
	refused(400, "parameter_invalid", "tax_minor", M{"partner_id": partner, "tax_minor": 101})
}
