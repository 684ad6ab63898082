package portal_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
	"rail/server/harness/browsertest"
)

// TestInABrowser uses the portal on a phone's screen, with and without
// JavaScript. The browser must have nothing to complain of, such as something
// that the content security policy keeps out.
func TestInABrowser(t *testing.T) {
	t.Parallel()
	browsertest.Chromium(t)
	s := apitest.New(t, apitest.Loopback, func(c *config.Config) { c.BaseURL = "http://127.0.0.1:8080" })
	partner, shown := furnished(s)
	b := browsertest.New(t, s.URL)
	b.KeepsFocus()
	b.Do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile))
	b.Open(link(s, partner))
	require.Equal(t, s.URL+"/portal", browsertest.Eval[string](b, "location.href"))
	for _, path := range paths {
		b.Open(path)
		require.LessOrEqual(t, browsertest.Eval[int](b, "document.documentElement.scrollWidth"), 390, "%s is wider than the screen", path)
		require.Equal(t, 1, browsertest.Eval[int](b, "document.querySelectorAll('h1').length"), path)
		require.Equal(t, strings.NewReplacer("postback", "settings", "assistants", "links").Replace(path), browsertest.Eval[string](b, "document.querySelector('.menu [aria-current]').getAttribute('href')"))
		require.NotEqual(t, "rgba(0, 0, 0, 0)", browsertest.Eval[string](b, "getComputedStyle(document.body).backgroundColor"),
			"%s is styled", path)
		require.Equal(t, 0,
			browsertest.Eval[int](b,
				"[...document.querySelectorAll('main input:not([type=hidden])')].filter(i => !i.labels?.length && !i.ariaLabel).length"), "%s: inputs without a label", path)
		require.Equal(t, 0,
			browsertest.Eval[int](b,
				"[...document.querySelectorAll('main button, main input[type=text]')].filter(e => e.offsetParent && e.getBoundingClientRect().height < 40).length"), "%s: too small for a finger", path)
		require.True(t,
			browsertest.Eval[bool](b,
				"(r => r.left >= 0 && r.right <= innerWidth)(document.querySelector('.menu [aria-current]').getBoundingClientRect())"), "%s: the entry is in view", path)
		b.Do(chromedp.KeyEvent(kb.Tab))
		require.Equal(t, "skip", browsertest.Eval[string](b, "document.activeElement.className"),
			"%s: the first Tab finds the way to the content", path)
		b.Picture("phone" + strings.ReplaceAll(path, "/", "-"))
	}
	copies(t, b, shown)
	b.Open("/portal/postback")
	b.Submit("/portal/postback/rotate", nil)
	b.Reads("Your signing secret")
	b.Picture("phone-secret")
	b.Open("/portal/settings")
	b.Submit("/portal/settings/profile", map[string]string{"first_name": "Ada"})
	b.Reads("Your profile is saved.")
	withoutScripts(t, b)
	b.Scripts(true)
	b.Do(chromedp.EmulateViewport(1200, 900))
	for _, path := range append(paths, "/portal/payout?id="+payoutOf(s, partner)) {
		b.Open(path)
		path, _, _ = strings.Cut(path, "?")
		b.Picture("desktop" + strings.ReplaceAll(path, "/", "-"))
	}
	p := s.Get("/v1/partners/" + partner)
	require.Equal(t, []any{"Ada", "Lovelace", "paypal", true, false}, []any{
		p.Body["first_name"], p.Body["last_name"], p.Body["payout_method"], p.Body["completed_onboarding"],
		p.Body["email_payout_paid"],
	})
	b.Submit("/portal/sign-out", nil)
	b.Reads("You are signed out")
	b.Silent()
}

// TestAccessible checks the accessibility of every page, on a phone and a desktop, in light and in dark.
func TestAccessible(t *testing.T) {
	t.Parallel()
	browsertest.Chromium(t)
	s := apitest.New(t, apitest.Loopback, func(c *config.Config) { c.BaseURL = "http://127.0.0.1:8080" })
	partner, _ := furnished(s)
	b := browsertest.New(t, s.URL)
	b.Open(link(s, partner))
	payout := "/portal/payout?id=" + payoutOf(s, partner)
	b.Accessible(append(paths, payout, strings.Replace(payout, "?", "/statement?", 1))...)
	b.Silent()
}

// TestChartInABrowser checks that each amount of the scale is at its line, also with months below zero, and that the
// page explains a debt.
func TestChartInABrowser(t *testing.T) {
	t.Parallel()
	browsertest.Chromium(t)
	s := apitest.New(t, func(c *config.Config) { c.BaseURL = "http://127.0.0.1:8080" })
	program := s.Program()
	s.Flow(program)
	partner := s.Partner(program)
	sale := s.Sale(program, s.Customer(program, partner), M{"amount_minor": 90000}).String("id")
	batch := s.Must(201, s.Post("/v1/payout_batches", M{"program_id": program, "period_end": "2026-09-01"})).String("id")
	payout := s.Get("/v1/payouts?program_id=" + program + "&batch_id=" + batch).Data()[0]["id"].(string)
	s.Must(200, s.Post("/v1/payouts/"+payout+"/mark_paid", M{"method": "paypal"}))
	s.Clock.Advance(65 * 24 * time.Hour)
	s.Must(200, s.Post("/v1/sales/"+sale+"/refund", M{}))
	b := browsertest.New(t, s.URL)
	b.Do(chromedp.EmulateViewport(1200, 900))
	b.Open(link(s, partner))
	b.Reads("Before your next payout")
	b.Reads("will be deducted from your next earnings")
	for name, width := range map[string]int64{"desktop-debt": 1200, "phone-debt": 390} {
		b.Do(chromedp.EmulateViewport(width, 900))
		require.True(t, browsertest.Eval[bool](b, `(() => {
			const zero = Number(document.querySelector('.plot .zero').getAttribute('y1'))
			return [...document.querySelector('.plot polyline').points].some(point => point.y > zero)
		})()`), "a month is below zero")
		require.LessOrEqual(t, browsertest.Eval[float64](b, `(() => {
			const middles = selector => [...document.querySelectorAll(selector)].map(e => e.getBoundingClientRect()).map(r => r.top + r.height / 2)
			const lines = middles('.plot > line'), words = middles('.scale text')
			return lines.length === words.length ? Math.max(...lines.map((y, i) => Math.abs(y - words[i]))) : Infinity
		})()`), 2.0, "pixels between a line and its amount")
		b.Picture(name)
	}
}

// TestInABrowserAtHome: a server of a company's own network has a name, and no
// certificate. A browser says less to it about where a form comes from.
func TestInABrowserAtHome(t *testing.T) {
	t.Parallel()
	browsertest.Chromium(t)
	s := apitest.New(t, func(c *config.Config) { c.BaseURL = "http://rail.test" })
	b := browsertest.New(t, strings.Replace(s.URL, "127.0.0.1", "rail.test", 1))
	partner := s.Partner(s.Program())
	b.Open(link(s, partner))
	b.Open("/portal/settings")
	b.Submit("/portal/settings/profile", map[string]string{"first_name": "Ada"})
	b.Reads("Your profile is saved.")
	require.Equal(t, "Ada", s.Get("/v1/partners/"+partner).String("first_name"))
}

// copies takes a link into the clipboard.
func copies(t *testing.T, b *browsertest.Tab, link string) {
	t.Helper()
	b.Open("/portal/links")
	b.Do(chromedp.Click(chromedp.CSS(".link [data-copy]")))
	b.Reads("Copied")
	require.Equal(t, link, b.Clipboard())
}

// withoutScripts does what a partner comes for in a browser that runs none.
func withoutScripts(t *testing.T, b *browsertest.Tab) {
	t.Helper()
	b.Scripts(false)
	b.Open("/portal/links")
	require.Zero(t, browsertest.Eval[int](b, "[...document.querySelectorAll('[data-copy]')].filter(e => e.offsetParent).length"),
		"no buttons that do nothing")
	require.Positive(t, browsertest.Eval[int](b, "[...document.querySelectorAll('code.link-text')].filter(e => getComputedStyle(e).userSelect === 'all').length"),
		"the links can be selected by hand")
	b.Open("/portal/settings")
	b.Submit("/portal/settings/profile", map[string]string{"last_name": "Lovelace"})
	b.Reads("Your profile is saved.")
	b.Do(chromedp.Click(chromedp.CSS(`a[href="/portal/settings?method=paypal#payout"]`)))
	b.Submit("/portal/settings/payout", map[string]string{"email": "ada@example.com"})
	b.Reads("Your payout method is saved.")
	b.Reads("a•••@example.com")
	b.Do(chromedp.Click(chromedp.CSS(`input[name="payout_paid"]`)))
	b.Submit("/portal/settings/notifications", nil)
	b.Reads("Your notifications are saved.")
}

// payoutOf is the last payout of a partner.
func payoutOf(s *apitest.Server, partner string) string {
	program := s.Get("/v1/partners/" + partner).String("program_id")
	return s.Must(200, s.Get("/v1/payouts?program_id="+program+"&partner_id="+partner)).Data()[0]["id"].(string)
}

// furnished makes a partner with something on every page; shown is the address
// of its link.
func furnished(s *apitest.Server) (partner, shown string) {
	program := s.Program(M{"name": "Northwind Notes", "payout_methods": []string{"paypal", "bank_transfer", "crypto"}})
	s.Flow(program)
	p := s.PartnerObject(program, M{"handle": "ada"})
	partner = p.String("id")
	l := s.Must(201, s.Post("/v1/links", M{
		"program_id": program, "partner_id": partner,
		"destination_url": "https://shop.example/pricing?plan=a-very-long-name-of-a-plan-that-goes-on",
		"label":           "Pricing page",
	}))
	sink := apitest.NewSink(s.T)
	hook := s.Must(201,
		s.Post("/v1/webhook_endpoints",
			M{"program_id": program, "partner_id": partner, "url": sink.URL + "/hooks"})).String("id")
	s.Must(201, s.Post("/v1/resources", M{
		"program_id": program, "title": "Brand guidelines", "url": "https://files.example/brand", "published": true,
	}))
	s.Must(201, s.Post("/v1/resources", M{
		"program_id": program, "title": "Banner 728 × 90", "url": "https://files.example/b.png", "folder": "Banners",
		"published": true,
	}))
	s.Must(200, s.Post("/v1/partners/"+partner, M{"payout_method": "crypto"}))
	for i := range 5 {
		click := s.Click(program, "ada", M{"referrer": "https://blog.example/", "country": "DE", "device": "mobile"})
		customer := s.Must(201,
			s.Post("/v1/customers",
				M{"program_id": program, "click_id": click.String("id"), "email": "buyer@example.com"})).String("id")
		s.Sale(program, customer, M{"amount_minor": 40000 + 3000*i})
	}
	s.Must(201, s.Post("/v1/payout_batches", M{"program_id": program, "period_end": "2026-09-01"}))
	s.Must(200, s.Post("/v1/webhook_endpoints/"+hook+"/ping", nil))
	return partner, l.String("url")
}
