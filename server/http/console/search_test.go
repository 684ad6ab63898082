package console_test

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"rail/server/harness/browsertest"
	"rail/server/team"
)

// TestSearch finds pages, actions, partners, customers and sales, and nothing of another organization.
func TestSearch(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	partner := s.Must(201, s.Post("/v1/partners", M{"program_id": s.program, "email": "zoe@example.com", "first_name": "Zoe",
		"status": "active"})).String("id")
	customer := s.Must(201, s.Post("/v1/customers", M{
		"program_id": s.program, "email": "zoltan@shop.example", "external_customer_id": "cus_zoltan", "partner_id": partner,
	})).String("id")
	sale := s.Must(201, s.Post("/v1/sales", M{
		"program_id": s.program, "customer_id": customer, "amount_minor": 4900, "currency": "USD",
		"external_charge_id": "ch_zoltan_1",
	})).String("id")
	find := func(p *person, text string) string { return p.page("/find?q=" + url.QueryEscape(text)) }
	for text, path := range map[string]string{
		"zoe": "/partners/" + partner, "ZOE@example": "/partners/" + partner, "zoltan@shop.example": "/customers/" + customer,
		"cus_zoltan": "/customers/" + customer, "ch_zoltan_1": "/sales/" + sale, partner: "/partners/" + partner,
		"newslet": "/mails/new", "new rule": "/rules/new", "pay": "/payouts",
	} {
		require.Contains(t, find(s.owner, text), `href="`+s.at+path+`"`, text)
	}
	for _, text := range []string{"nothing-like-this", "%", "' OR 1=1", "zo_"} {
		require.Contains(t, find(s.owner, text), "Nothing found", text)
	}
	require.NotContains(t, find(s.owner, "\x00"), "Nothing found")
	stranger := s.person(s.NewOrg("Other"), team.Owner)
	stranger.says(404, "Page not found", stranger.ask("GET", s.at+"/find?q=zoe", nil))
}

// TestSearchFindsPages: every page of the menu and below it is found by its title.
func TestSearchFindsPages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	heading := regexp.MustCompile(`<h1[^>]*>([^<]+)</h1>`)
	for _, path := range []string{
		"", "/reports", "/partners", "/applications", "/groups", "/risk", "/customers", "/sales", "/commissions", "/payouts",
		"/payouts/all", "/payouts/attention", "/payouts/totals", "/payouts/rails", "/rules", "/portal", "/mails",
		"/mails/failed", "/resources", "/settings", "/integrations", "/integrations/events", "/imports", "/imports/new",
		"/plan", "/keys", "/webhooks", "/log", "/test-purchase",
	} {
		page := s.owner.page(path)
		names := []string{strings.TrimSpace(heading.FindStringSubmatch(page)[1])}
		if strings.HasPrefix(path, "/payouts/") || path == "/integrations/events" { // these pages have one heading and are tabs
			names = []string{regexp.MustCompile(`<title>([^<·|–-]+)`).FindStringSubmatch(page)[1]}
		}
		for _, name := range names {
			name = strings.TrimSpace(html.UnescapeString(name))
			_, results, _ := strings.Cut(s.owner.page("/find?q="+url.QueryEscape(name)), "<main") // without the menu
			require.Contains(t, results, `href="`+s.at+path+`"`, "%s: %s", path, name)
		}
	}
}

// TestSearchInTheBrowser: / focuses the search, and the arrow keys and Enter open a result.
func TestSearchInTheBrowser(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.visit("/partners")
	d.Do(chromedp.KeyEvent("/"))
	require.True(t, browsertest.Eval[bool](d.Tab, "document.activeElement.matches('[data-find]')"))
	browsertest.Eval[string](d.Tab, "document.activeElement.value = ''") // the driver types what the page has handled
	d.Do(chromedp.KeyEvent("new program"))
	d.Reads("Pages and actions")
	require.Empty(t, d.Violations())
	d.Do(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.Enter))
	d.Reads("Create program")
	d.Silent()
}
