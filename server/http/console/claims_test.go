package console_test

import (
	"html"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestClaimsOfAssistants: the pages of a customer and of a sale show the way and the claims, each sale its own.
func TestClaimsOfAssistants(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ada := s.Partner(s.program, M{"first_name": "Ada", "handle": "ada", "email": "ada@example.com"})
	s.Flow(s.program)
	token := s.Must(201, s.Post("/v1/attribution_tokens", M{"partner_id": ada})).String("token")
	sell := func(charge string, claim M) (sale, customer string) {
		a := s.Must(201, s.Post("/v1/sales", M{
			"program_id": s.program, "external_customer_id": "cus_1", "external_charge_id": charge, "amount_minor": 5000,
			"currency": "USD", "affiliate_attribution": claim,
		}))
		return a.String("id"), a.String("customer_id")
	}
	first, customer := sell("ch_1", M{
		"provider": "rail.example", "token": token, "campaign_id": "<spring>", "sub_id": "u1",
		"source": M{"type": "url", "url": "https://blog.example/best"},
	})
	second, _ := sell("ch_2", M{"provider": "impact.com", "token": "x", "campaign_id": "summer"})
	says := func(path string, has, lacks []string) {
		t.Helper()
		page := html.UnescapeString(s.owner.page(path))
		for _, text := range has {
			require.Contains(t, page, text)
		}
		for _, text := range lacks {
			require.NotContains(t, page, text)
		}
	}
	ours := []string{
		"AI assistants", "<dd>AI assistant</dd>", "Credited", "Agentic Commerce Protocol", "<spring>", "u1", "https://blog.example/best",
	}
	theirs := []string{"Ignored: Provider unknown", "summer"}
	says("/customers/"+customer, append([]string{"An AI assistant named Ada for this customer on"}, append(ours, theirs...)...), []string{token})
	says("/sales/"+first, ours, theirs)
	says("/sales/"+second, append([]string{"<dd>AI assistant</dd>"}, theirs...), []string{"u1"})
	plain := s.Sale(s.program, s.Customer(s.program, ada))
	says("/sales/"+plain.String("id"), []string{"<dd>API</dd>"}, []string{"AI assistants"})
	require.Contains(t, s.owner.page("/customers"), "AI assistant")
}
