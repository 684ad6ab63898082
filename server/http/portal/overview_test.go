package portal_test

import (
	"encoding/xml"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
	"rail/server/harness/browsertest"
)

// TestNextTier shows the progress to a rate that depends on the number of customers alone.
func TestNextTier(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	flow := s.Flow(program, M{"branches": []M{{
		"rate_type": "percent", "rate_value": 3500,
		"conditions": []M{{"field": "partner.customers_count", "operator": "gte", "value": 3}},
	}}})
	partner := s.Partner(program)
	b := signIn(s, partner)
	s.Customer(program, partner) // has not paid
	for range 2 {
		s.Sale(program, s.Customer(program, partner))
	}
	page := b.get("/portal")
	require.Contains(t, page, "1 more customer until you earn 35 % of every payment.")
	require.Contains(t, page, `<progress max="3" value="2"`)
	s.Sale(program, s.Customer(program, partner))
	require.NotContains(t, b.get("/portal"), "until you earn", "it is reached")
	s.Must(200, s.Post("/v1/flows/"+flow, M{"branches": []M{{
		"rate_type": "percent", "rate_value": 3500, "conditions": []M{
			{"field": "partner.customers_count", "operator": "gte", "value": 30},
			{"field": "customer.country", "operator": "eq", "value": "DE"},
		},
	}}}))
	require.NotContains(t, b.get("/portal"), "until you earn", "more than the number decides")
}

// TestMonth compares this month with the last one up to the same day.
func TestMonth(t *testing.T) {
	t.Parallel()
	s := apitest.New(t) // 1 September 2026
	program := s.Program()
	s.Flow(program)
	partner := s.Partner(program, M{"handle": "ada"})
	customer := s.Customer(program, partner)
	sell := func(day string, amount int) {
		s.Sale(program, customer, M{"amount_minor": amount, "occurred_at": day + "T10:00:00Z"})
	}
	s.Clock.Advance(14*24*time.Hour + 12*time.Hour) // 15 September
	sell("2026-08-03", 10000)
	sell("2026-08-20", 77700) // after the day
	sell("2026-09-02", 30000)
	b := signIn(s, partner)
	page := b.get("/portal")
	require.Contains(t, page, "60.00 USD</dd>")
	require.Contains(t, page, `<span class="up">200 %</span> · 20.00 USD last month by this day`)
	require.NotContains(t, signInPage(s, s.Partner(program)), "last month by this day", "a newcomer has nothing to compare")
}

// signInPage returns the overview of a partner.
func signInPage(s *apitest.Server, partner string) string { return signIn(s, partner).get("/portal") }

// TestPoster checks that a poster is a picture with texts of any length within its edges.
func TestPoster(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program(M{"name": strings.Repeat("Wide & <b> ", 20)})
	partner := s.Partner(program, M{"handle": "ada"})
	long := s.Must(201, s.Post("/v1/links", M{
		"program_id": program, "partner_id": partner, "label": "Long", "destination_url": "https://shop.example/" + strings.Repeat("x", 300),
	})).String("id")
	b := signIn(s, partner)
	for link, text := range map[string]string{"own": "shop.example/?", long: ">shop.example<"} {
		picture := b.s.Must(200, b.ask("GET", "/portal/poster.svg?link="+link, nil))
		require.Equal(t, "image/svg+xml", picture.Header.Get("Content-Type"))
		require.NoError(t, xml.Unmarshal(picture.Raw, new(struct{})))
		require.Contains(t, string(picture.Raw), text)
	}
	b.says(404, "Page not found", b.ask("GET", "/portal/poster.svg?link=lnk_none", nil))
	other := s.Must(200, s.Get("/v1/links?program_id="+program)).Data()[0]["id"].(string)
	stranger := signIn(s, s.Partner(program))
	stranger.says(404, "Page not found", stranger.ask("GET", "/portal/poster.svg?link="+other, nil))
}

// TestShareInABrowser shares by the device's own menu where there is one, and by links to other sites elsewhere. The
// whole link can be read on a phone.
func TestShareInABrowser(t *testing.T) {
	t.Parallel()
	browsertest.Chromium(t)
	s := apitest.New(t, apitest.Loopback, func(c *config.Config) { c.BaseURL = "http://127.0.0.1:8080" })
	partner := s.Partner(s.Program(M{"name": "Northwind", "website_url": "https://shop.example"}), M{"handle": "ada"})
	b := browsertest.New(t, s.URL)
	b.Do(chromedp.EmulateViewport(390, 844))
	b.Open(link(s, partner))
	require.Equal(t, "https://shop.example/?ref=ada", browsertest.Eval[string](b, "document.querySelector('.link-text').textContent"))
	require.True(t, browsertest.Eval[bool](b, "(e => e.scrollWidth <= e.clientWidth)(document.querySelector('.link-text'))"))
	require.False(t, browsertest.Eval[bool](b, "'share' in navigator"))
	b.Do(chromedp.Click(chromedp.CSS("details.share summary")))
	b.Reads("WhatsApp")
	mail := browsertest.Eval[string](b, "document.querySelector('.share a').href")
	require.Equal(t, "mailto:?subject=Northwind&body=https:%2F%2Fshop.example%2F%3Fref=ada", mail)
	b.OnLoad("navigator.share = async what => { window.shared = what }")
	b.Open("/portal")
	b.Do(chromedp.Click(chromedp.CSS("details.share summary")))
	require.Equal(t, "https://shop.example/?ref=ada", browsertest.Eval[string](b, "window.shared.url"))
	b.Silent()
}
