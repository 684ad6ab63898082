package join_test

import (
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
	"rail/server/harness/browsertest"
)

// landing sets what the join page has beside the form.
func landing(s *site) {
	s.set(M{
		"headline": "Earn <with> us", "benefits": []string{"Paid every month"},
		"faq":        []M{{"question": "When am I paid?", "answer": "At the end.\n\nOf the month."}},
		"calculator": M{"customers": 10, "amount_minor": 5000}, "hero": M{"data": "R0lGODlhAQABAIAAAAAAAAAAACwAAAAAAQABAAACAkQBADs="},
	})
}

var meta = regexp.MustCompile(`(?:property|name|rel)="([a-z:]+)" (?:content|href)="([^"]*)"`)

// shared are the page's elements for other sites by name.
func shared(page string) map[string]string {
	out := map[string]string{}
	for _, found := range meta.FindAllStringSubmatch(page, -1) {
		out[found[1]] = html.UnescapeString(found[2])
	}
	return out
}

// TestLanding shows the headline, the picture, the benefits, the calculator and the questions, and how others show a
// link to the page. The picture of links follows the settings.
func TestLanding(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	landing(s)
	page := string(s.Must(200, s.get(s.at)).Raw)
	for _, text := range []string{
		"<h1>Earn &lt;with&gt; us</h1>", "Paid every month</span>", `class="hero" src="/look/`, "When am I paid?",
		`<p class="intro">Of the month.</p>`,
	} {
		require.Contains(t, page, text)
	}
	at := "https://rail.example/join/" + s.Get("/v1/programs/"+s.program).String("subdomain")
	tags := shared(page)
	require.Equal(t, []string{at, at, "Earn <with> us", "Tell <your> readers."}, []string{
		tags["canonical"], tags["og:url"], tags["og:title"], tags["og:description"],
	})
	card := strings.TrimPrefix(tags["og:image"], "https://rail.example")
	picture := s.Must(200, s.get(card))
	require.Equal(t, "image/png", picture.Header.Get("Content-Type"))
	require.True(t, strings.HasPrefix(string(picture.Raw), "\x89PNG"))
	s.Must(404, s.get(strings.Replace(card, ".png", ".svg", 1)))
	s.set(M{"headline": "Another"})
	s.Must(404, s.get(card))
	card = strings.TrimPrefix(shared(string(s.Must(200, s.get(s.at)).Raw))["og:image"], "https://rail.example")
	s.Must(200, s.get(card))
	s.set(M{"join": "closed"})
	s.Must(404, s.get(card))
}

var output = regexp.MustCompile(`<output[^>]*>([^<]*)</output>`)

// TestCalculator calculates with the rate of a customer's monthly payment, which conditions can change, and with the
// visitor's values within bounds.
func TestCalculator(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	result := func(query string) string {
		found := output.FindStringSubmatch(string(s.Must(200, s.get(s.at+query)).Raw))
		if found == nil {
			return ""
		}
		return found[1]
	}
	require.Empty(t, result(""), "none is set")
	landing(s)
	require.Equal(t, "100.00 USD", result(""))
	require.Equal(t, "30.00 USD", result("?customers=3&amount=50"))
	for _, query := range []string{"?customers=0", "?customers=10001", "?amount=-1", "?amount=x", "?amount=10000000.01"} {
		require.Equal(t, "100.00 USD", result(query), query)
	}
	require.Equal(t, "20,000,000,000.00 USD", result("?customers=10000&amount=10000000"))
	flow := s.Get("/v1/flows?program_id=" + s.program).Data()[0]["id"].(string)
	branches := func(field, operator string, value any, rate int) {
		s.Must(200, s.Post("/v1/flows/"+flow, M{"branches": []M{{
			"rate_type": "percent", "rate_value": rate,
			"conditions": []M{{"field": field, "operator": operator, "value": value}},
		}}}))
	}
	branches("customer.months_since_conversion", "lt", 12, 3000)
	require.Equal(t, "150.00 USD", result(""))
	branches("sale.interval", "eq", "year", 4000)
	require.Equal(t, "100.00 USD", result(""))
	branches("sale.interval", "eq", "month", 0)
	require.Empty(t, result(""), "nothing is paid")
}

// TestLanguage chooses the language of the page in its footer; the browser remembers it.
func TestLanguage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	page := func(path string, headers ...string) string { return string(s.Must(200, s.get(path, headers...)).Raw) }
	require.Contains(t, page(s.at, "Accept-Language", "de"), `<html lang="de">`)
	require.Contains(t, page(s.at+"?language=xx", "Accept-Language", "de"), `<html lang="de">`)
	chosen := s.Must(200, s.get(s.at+"?language=ja", "Accept-Language", "de"))
	require.Contains(t, string(chosen.Raw), `<html lang="ja">`)
	cookie, _, _ := strings.Cut(chosen.Header.Get("Set-Cookie"), ";")
	require.Equal(t, "__Host-rail_language=ja", cookie)
	require.Contains(t, page(s.at, "Accept-Language", "de", "Cookie", cookie), `<html lang="ja">`)
	require.Contains(t, page(s.at, "Cookie", "__Host-rail_language=xx"), `<html lang="en">`)
	require.Contains(t, page(s.at), `href="`+s.at+`?language=pt-BR"`)
}

// TestLandingInABrowser counts live in the calculator, and checks the page's width and accessibility.
func TestLandingInABrowser(t *testing.T) {
	t.Parallel()
	browsertest.Chromium(t)
	s := newSite(t, apitest.Loopback, func(c *config.Config) { c.BaseURL = "http://127.0.0.1:8080" })
	landing(s)
	b := browsertest.New(t, s.URL)
	b.Do(chromedp.EmulateViewport(390, 844))
	b.Open(s.at)
	require.LessOrEqual(t, browsertest.Eval[int](b, "document.documentElement.scrollWidth"), 390)
	browsertest.Eval[string](b, "document.querySelector('#customers').value = ''")
	b.Do(chromedp.SendKeys(chromedp.CSS("#customers"), "25"))
	require.Equal(t, "250.00 USD", browsertest.Eval[string](b, "document.querySelector('output').textContent"))
	b.Scripts(false)
	b.Open(s.at)
	b.Do(chromedp.SetValue(chromedp.CSS("#amount"), "80"), chromedp.Click(chromedp.CSS("#calculator button")))
	b.Reads("160.00 USD")
	b.Scripts(true)
	b.Accessible(s.at)
	b.Silent()
}
