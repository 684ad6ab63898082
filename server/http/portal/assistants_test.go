package portal_test

import (
	"html"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// TestOwnTokens: a partner makes a token for AI assistants, which credits the partner. It is shown once.
func TestOwnTokens(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program)
	link := s.Must(201, s.Post("/v1/links", M{
		"program_id": program, "partner_id": partner, "destination_url": "https://shop.example/", "label": "Review",
	})).String("id")
	b := signIn(s, partner)
	b.says(200, "rail.example", b.ask("GET", "/portal/assistants", nil))
	token := func(days, link string) string {
		a := s.Must(200, b.send("/portal/assistants/add", "days", days, "link", link))
		page := html.UnescapeString(string(a.Raw))
		require.Contains(t, page, `<meta name="affiliate_attribution"`)
		return regexp.MustCompile(`value="(rat_[\w-]+)"`).FindStringSubmatch(page)[1]
	}
	sell := func(token string) apitest.Answer {
		return s.Must(201, s.Post("/v1/sales", M{
			"program_id": program, "external_customer_id": apitest.Unique("cus_"), "external_charge_id": apitest.Unique("ch_"),
			"amount_minor": 5000, "currency": "USD", "affiliate_attribution": M{"provider": "rail.example", "token": token},
		}))
	}
	usual, short := token("90", ""), token("30", link)
	require.Equal(t, partner, sell(usual).String("partner_id"))
	sold := sell(short)
	require.Equal(t, partner, sold.String("partner_id"))
	require.Equal(t, link, s.Get("/v1/customers/"+sold.String("customer_id")).String("link_id"))
	require.NotContains(t, b.get("/portal/assistants"), "rat_")
	require.Contains(t, b.get("/portal/customers"), "AI assistant")
	actions, reasons, after := audit(s, program)
	require.Equal(t, []string{"attribution_token.created", "attribution_token.created"}, actions)
	require.Equal(t, "By the partner "+partner+" in the portal.", reasons[0])
	require.NotContains(t, after[0], "token")
	s.Clock.Advance(31 * 24 * time.Hour)
	require.Nil(t, sell(short).Body["partner_id"])
	require.Equal(t, partner, sell(usual).String("partner_id"))

	b = signIn(s, partner)
	for _, days := range []string{"", "0", "366", "x"} {
		b.says(422, "Choose one of the given answers.", b.send("/portal/assistants/add", "days", days))
	}
	other := s.Partner(program)
	foreign := s.Must(201, s.Post("/v1/links", M{
		"program_id": program, "partner_id": other, "destination_url": "https://shop.example/",
	})).String("id")
	for _, id := range []string{foreign, "lnk_01kb2m4q8e7v9t3n5x6c0d1f2g", "x"} {
		b.says(404, "not found", b.send("/portal/assistants/add", "days", "90", "link", id))
	}
}
