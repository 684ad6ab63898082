package console_test

import (
	"html"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/team"
)

// TestTestPurchase leads from the set-up through a purchase to the next step, and stores nothing.
func TestTestPurchase(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, page := range []string{"/setup", "/integrations"} {
		require.Contains(t, s.owner.page(page), `href="/console/p/`+s.program+`/test-purchase"`, page)
	}
	require.Contains(t, s.owner.page("/test-purchase"), "No partner to test with")
	ada := s.Partner(s.program, M{"first_name": "Ada", "handle": "ada", "email": "ada@example.com"})
	s.Must(201, s.Post("/v1/coupons", M{"program_id": s.program, "partner_id": ada, "code": "ADA20"}))
	says := func(query string, texts ...string) {
		t.Helper()
		page := html.UnescapeString(s.owner.page("/test-purchase" + query))
		for _, text := range texts {
			require.Contains(t, page, text)
		}
	}
	says("", "The form is ready", `value="ada@example.com"`, "Link (ada)", "Coupon ADA20", `value="49.00"`)
	says("?partner=ada&amount=49", "Ada earns nothing. No rule matches.", "Next: a rule")
	s.Flow(s.program, M{"name": "Creators", "approval_mode": "after_days", "approval_delay_days": 14, "branches": []any{
		M{"label": "Boxes", "conditions": []any{M{"field": "sale.product_id", "operator": "eq", "value": "box"}},
			"rate_type": "percent", "rate_value": 3000},
	}})
	says("?partner=ada&amount=49", "Test purchase of 49.00 USD by Ada’s link", "Nothing was stored",
		"Ada earns 9.80 USD, 20 % of 49.00 USD.", ">Creators</a>", "A visitor opens https://shop.example/?ref=ada.",
		"It is approved after 14 days.", "<code>commission.created</code>",
		"Next: the script on your site")
	says("?partner=ada&amount=100&product=box&way=coupon:ADA20&interval=month&email=grace@example.com",
		"Test purchase of 100.00 USD by Ada’s coupon ADA20", "Ada earns 30.00 USD, 30 % of 100.00 USD.",
		"Creators, exception: Boxes", "grace@example.com uses the coupon ADA20",
		"the first payment of a monthly subscription.")
	require.Zero(t, s.Must(200, s.Get("/v1/sales?program_id="+s.program)).Int("total_count"))

	says("?partner=ada&amount=49&currency=NIX", `aria-invalid="true"`)
	s.Must(200, s.Post("/v1/partners/"+ada, M{"status": "suspended"}))
	says("?partner=ada&amount=49", "The link leads to no active partner: Ada is not active.", "Not reached.", "Next: Ada")
	says("?partner=nobody&amount=49", "No partner found")
	says("?partner=ada&amount=lots", "Enter an amount, such as 49.00.")
	viewer := s.person(s.Org, team.Viewer)
	require.Contains(t, viewer.page("/test-purchase?partner=ada&amount=49"), "Not reached.")
}
