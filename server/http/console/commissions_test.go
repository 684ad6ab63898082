package console_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/team"
)

// TestCommissionsPage: commissions are found, explained and decided about.
func TestCommissionsPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Flow(s.program, M{"approval_mode": "manual"})
	ada, sales := s.earns("Ada Lovelace", "", 10000, 20000)
	s.earns("Grace Hopper", "", 30000)
	p := s.person(s.Org, team.Manager)
	list := p.page("/commissions?status=pending")
	require.Contains(t, list, "3 commissions")
	mine := p.page("/commissions?partner=ada")
	require.Contains(t, mine, "2 commissions")
	require.NotContains(t, mine, "Grace Hopper")
	require.Contains(t, p.page("/commissions?kind=clawback"), "No commissions match these filters")
	require.Contains(t, p.page("/commissions?created_before=2026-09-01"), "No commissions match these filters")
	require.Contains(t, p.page("/commissions?created_after=2026-09-01"), "3 commissions")
	p.says(400, "No partner found", p.ask("GET", p.full("/commissions?partner=nobody"), nil))
	s.Must(200, s.Post("/v1/programs/"+s.program, M{"time_zone": "Pacific/Kiritimati"})) // UTC+14: the 2nd
	require.Contains(t, p.page("/commissions?created_after=2026-09-02"), "3 commissions")
	require.Contains(t, p.page("/commissions?created_before=2026-09-02"), "No commissions match these filters")

	of := func(sale string) string {
		return s.Get("/v1/commissions?program_id=" + s.program + "&sale_id=" + sale).Data()[0]["id"].(string)
	}
	one, two := of(sales[0]), of(sales[1])
	why := p.page("/commissions/" + one)
	for _, text := range []string{"Why this amount.", "20 % of 100.00 USD", "Why this partner.", "Ada Lovelace", "Earned"} {
		require.Contains(t, why, text)
	}
	require.Contains(t, p.done(p.send("/commissions/approve", "id", one, "id", two)), "2 commissions are approved")
	require.Contains(t, p.done(p.send("/commissions/approve", "id", one)), "0 commissions are approved. 1 was refused:")
	p.says(400, "reason", p.send("/commissions/"+one+"/reject"))
	require.Contains(t, p.done(p.send("/commissions/reject", "id", one, "reason", "A test purchase.")), "1 commission is rejected")
	require.Contains(t, p.page("/commissions/"+one), "A test purchase.")

	p.says(400, "No partner found", p.send("/commissions/new", "partner", "nobody", "amount_minor", "5", "reason", "Bonus"))
	p.says(400, "reason", p.send("/commissions/new", "partner", "Lovelace", "amount_minor", "5"))
	require.Contains(t, p.done(p.send("/commissions/new", "partner", "Lovelace", "amount_minor", "12.50", "reason", "Bonus")),
		"12.50 USD for Ada Lovelace")
	rewards := s.Get("/v1/commissions?program_id=" + s.program + "&kind=reward&partner_id=" + ada).Data()
	require.Equal(t, "1250", fmt.Sprint(rewards[0]["amount_minor"]))
	found := p.ask("GET", p.full("/find/partners?q=lov"), nil)
	require.Contains(t, string(p.Must(200, found).Raw), `"label":"Ada Lovelace"`)

	v := s.person(s.Org, team.Viewer)
	require.NotContains(t, v.page("/commissions"), ">Reject</button>")
	v.says(403, "Your role cannot do this", v.send("/commissions/"+two+"/reject", "reason", "x"))
	stranger := s.person(s.NewOrg("Other"), team.Owner)
	stranger.Must(404, stranger.ask("GET", s.at+"/commissions/"+two, nil))
	stranger.Must(404, stranger.ask("GET", s.at+"/find/partners?q=lov", nil))
}

// TestSalesPage previews a refund and checks that the refund equals its preview.
func TestSalesPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Flow(s.program)
	_, sales := s.earns("Ada Lovelace", "", 10000, 20000)
	p := s.person(s.Org, team.Manager)
	require.Contains(t, p.page("/sales"), "2 sales")
	require.Contains(t, p.page("/sales?occurred_before=2020-01-01"), "No sales match these filters")
	require.Contains(t, p.page("/sales?refunded=true&partner=ada"), "No sales match these filters")
	sale := "/sales/" + sales[0]
	require.Contains(t, p.page(sale), "Sale of 100.00 USD")
	preview := p.page(sale + "/refund?currency=USD&amount_minor=25&reason=Late")
	for _, text := range []string{"Refund 25.00 USD", "20.00 USD", "15.00 USD", "Ada Lovelace"} {
		require.Contains(t, preview, text)
	}
	require.Contains(t, p.page(sale+"/refund?currency=USD&amount_minor="), "Refund 100.00 USD")
	p.says(400, "amount_minor", p.ask("GET", p.full(sale+"/refund?currency=USD&amount_minor=100.01"), nil))
	require.Contains(t, p.page(sale), "Commissions")
	require.Contains(t, p.done(p.send(sale+"/refund", "currency", "USD", "amount_minor", "25", "reason", "Late")),
		"25.00 USD of the sale is refunded")
	require.Contains(t, p.page(sale), "Late")
	require.EqualValues(t, 7500, s.Get("/v1"+sale).Int("amount_minor"))
	v := s.person(s.Org, team.Viewer)
	require.NotContains(t, v.page(sale), "Preview")
	v.says(403, "Your role cannot do this", v.ask("GET", v.full(sale+"/refund"), nil))
	stranger := s.person(s.NewOrg("Other"), team.Owner)
	stranger.Must(404, stranger.ask("GET", s.at+sale, nil))
}

// TestCustomersPage: a customer is found by what people know of it, and can be given to another partner.
func TestCustomersPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Flow(s.program)
	ada, sales := s.earns("Ada Lovelace", "", 10000)
	grace, _ := s.earns("Grace Hopper", "")
	id := s.Get("/v1/sales/" + sales[0]).String("customer_id")
	s.Must(200, s.Post("/v1/customers/"+id, M{"email": "kay@shop.example", "name": "Kay"}))
	p := s.person(s.Org, team.Manager)
	require.Contains(t, p.page("/customers?customer=kay@shop.example"), "1 customer")
	require.Contains(t, p.page("/customers?customer=nobody-1"), "No customers match these filters")
	page := p.page("/customers/" + id)
	for _, text := range []string{"Kay", "Ada Lovelace", "100.00 USD"} {
		require.Contains(t, page, text)
	}
	p.says(400, "No partner found", p.send("/customers/"+id+"/partner", "partner", "nobody"))
	require.Contains(t, p.done(p.send("/customers/"+id+"/partner", "partner", "Hopper")), "counts for Grace Hopper")
	require.Equal(t, grace, s.Get("/v1/customers/"+id).String("partner_id"))
	require.Contains(t, p.page("/customers?partner=hopper"), "Kay")
	stranger := s.person(s.NewOrg("Other"), team.Owner)
	stranger.Must(404, stranger.ask("GET", s.at+"/customers/"+id, nil))
	require.NotEqual(t, ada, grace)
}

// TestWhyInPageWords explains a commission in the words of the console: rules, exceptions and days of the reader's place.
func TestWhyInPageWords(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Flow(s.program, M{"name": "Standard", "branches": []any{
		M{"label": "Pro, first year", "rate_type": "percent", "rate_value": 3000, "conditions": []any{
			M{"field": "sale.product_id", "operator": "eq", "value": "prod_pro"},
		}},
	}})
	partner := s.Partner(s.program, M{"first_name": "Ada", "handle": "ada"})
	customer := s.Must(201, s.Post("/v1/customers", M{
		"program_id": s.program, "click_id": s.Click(s.program, "ada").String("id"),
	})).String("id")
	sale := s.Sale(s.program, customer, M{"amount_minor": 4999, "product_id": "prod_pro"})
	k, ok := s.SoleCommission(s.program, sale.String("id"))
	require.True(t, ok)
	page := s.owner.page("/commissions/" + k.String("id"))
	require.Contains(t, page, "30 % of 49.99 USD, because of the exception “Pro, first year” in the rule “Standard”.")
	require.Regexp(t, `The customer clicked Ada’s link on [^.]*[A-Z][a-z]{2}[^.]*2026\.`, page)
	list := s.owner.page("/partners/" + partner + "/commissions")
	require.Contains(t, list, "because of the exception “Pro, first year”")
	rest := s.Sale(s.program, customer, M{"amount_minor": 1000})
	k, ok = s.SoleCommission(s.program, rest.String("id"))
	require.True(t, ok)
	page = s.owner.page("/commissions/" + k.String("id"))
	require.Contains(t, page, "20 % of 10.00 USD, because of the rule “Standard”.")
	for _, text := range []string{"the flow ", "the branch ", "on 2026-"} {
		require.NotContains(t, page, text)
	}
	require.Contains(t, s.owner.page("/customers/"+customer), "The customer clicked Ada’s link on")
}
