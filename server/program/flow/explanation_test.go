package flow_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// TestExplanation: a commission explains its amount and its partner in words, even after the
// objects that caused it are deleted.
func TestExplanation(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program, M{"handle": "ada"})
	flow := s.Flow(program, M{"name": "Creators", "rate_value": 1250, "branches": []any{
		M{"label": "Box", "conditions": when("sale.product_id", "eq", "box"), "rate_type": "fixed", "rate_value": 300},
	}})
	s.Must(201, s.Post("/v1/coupons", M{"program_id": program, "code": "ADA20", "partner_id": partner, "external_id": "p"}))
	day := s.Clock.Now().Format("2006-01-02")
	why := func(commission apitest.Answer) (amount, credit any) {
		e := s.Must(200, s.Get("/v1/commissions/"+commission.String("id")+"?include[]=explanation")).Body["explanation"].(M)
		return e["amount"], e["partner"]
	}
	of := func(sale apitest.Answer) apitest.Answer {
		k, ok := s.SoleCommission(program, sale.String("id"))
		require.True(t, ok)
		return k
	}
	says := func(k apitest.Answer, amount, credit any) {
		t.Helper()
		a, b := why(k)
		require.Equal(t, []any{amount, credit}, []any{a, b})
	}
	click := M{"program_id": program, "click_id": s.Click(program, "ada").String("id")}
	byLink := s.Must(201, s.Post("/v1/customers", click)).String("id")
	sale := s.Sale(program, byLink, M{"amount_minor": 10000})
	came := "The customer came by the partner's handle on " + day + "."
	says(of(sale), "12.5 % of 100.00 USD, by the flow Creators.", came)
	says(of(s.Sale(program, byLink, M{"product_id": "box"})), "A fixed amount, by the branch Box of the flow Creators.", came)
	s.Must(200, s.Post("/v1/sales/"+sale.String("id")+"/refund", M{"amount_minor": 4000}))
	says(of(sale), "12.5 % of 60.00 USD, the rest after refunds, by the flow Creators.", came)
	s.Must(201, s.Post("/v1/links", M{"program_id": program, "partner_id": partner, "value": "spring", "destination_url": "https://shop.example/"}))
	linked := s.Must(201, s.Post("/v1/customers", M{
		"program_id": program, "click_id": s.Click(program, "spring", M{"visitor_token": "another_visitor"}).String("id"),
	})).String("id")
	says(of(s.Sale(program, linked, M{"product_id": "box"})), "A fixed amount, by the branch Box of the flow Creators.",
		"The customer came by the link spring on "+day+".")
	byCoupon := s.Must(201, s.Post("/v1/customers", M{"program_id": program, "coupon_code": "ADA20"})).String("id")
	says(of(s.Sale(program, byCoupon, M{"amount_minor": 2000})), "12.5 % of 20.00 USD, by the flow Creators.",
		"The customer used the coupon ADA20 on "+day+".")
	reported := of(s.Sale(program, s.Customer(program, partner), M{"amount_minor": 2000}))
	says(reported, "12.5 % of 20.00 USD, by the flow Creators.", "The customer was reported as the partner's on "+day+".")
	granted := s.Must(201, s.Post("/v1/commissions", M{
		"program_id": program, "partner_id": partner, "amount_minor": 500, "currency": "USD", "reason": "Thanks.",
	}))
	says(granted, "Granted manually.", nil)
	s.Must(200, s.Delete("/v1/flows/"+flow))
	says(reported, "12.5 % of 20.00 USD, by a deleted flow.", "The customer was reported as the partner's on "+day+".")
	for _, path := range []string{"/v1/commissions?", "/v1/commissions/maturing?from=2020-01-01&to=2099-01-01&"} {
		for _, k := range s.Must(200, s.Get(path+"include=explanation&program_id="+program)).Data() {
			require.NotEmpty(t, k["explanation"].(M)["amount"])
		}
	}
	require.NotContains(t, s.Get("/v1/commissions/"+granted.String("id")).Body, "explanation")
	s.Must(400, s.Get("/v1/commissions?include[]=stats&program_id="+program))
}
