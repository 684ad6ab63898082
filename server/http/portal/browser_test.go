package portal_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	cdp "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"rail/server/config"
	"rail/server/harness/apitest"
)

// chromium finds a browser; RAIL_TEST_BROWSER names one.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{
		os.Getenv("RAIL_TEST_BROWSER"), "chromium", "chromium-browser", "google-chrome", "google-chrome-stable",
	} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no Chromium found: the portal was not looked at in a browser; install one, or name it with RAIL_TEST_BROWSER")
	return ""
}

// tab is a page of a real browser, with everything that it complained of.
type tab struct {
	t          *testing.T
	ctx        context.Context
	base       string
	mu         sync.Mutex
	complaints []string
}

func newTab(t *testing.T, base string) *tab {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium(t)), chromedp.DisableGPU,
		chromedp.Flag("disable-component-update", true), chromedp.Flag("host-resolver-rules", "MAP rail.test 127.0.0.1"),
		chromedp.UserDataDir(t.TempDir()))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, end := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(end)
	ctx, stop := chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(stop)
	ctx, closed := chromedp.NewContext(ctx)
	t.Cleanup(closed)
	b := &tab{t: t, ctx: ctx, base: base}
	messages := chromedp.Console(ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			b.mu.Lock()
			b.complaints = append(b.complaints, m.String())
			b.mu.Unlock()
		}
	}()
	return b
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, steps...))
}

// open opens a page of the portal.
func (b *tab) open(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.base + path))
}

// eval runs an expression of the test's own in the page.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	out, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(b.t, err, expression)
	return out
}

// submit fills a form's empty fields and sends it by its button.
func (b *tab) submit(form string, fields map[string]string) {
	b.t.Helper()
	for name, value := range fields {
		field := chromedp.CSS(`form[action="` + form + `"] input[name="` + name + `"]`)
		b.do(chromedp.SendKeys(field, value))
	}
	b.do(chromedp.Click(chromedp.CSS(`form[action="` + form + `"] button[type="submit"]`)))
}

// reads waits until the page says something.
func (b *tab) reads(text string) {
	b.t.Helper()
	apitest.Eventually(b.t, func() bool {
		said, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("document.body.innerText"))
		return err == nil && strings.Contains(said, text)
	}, "the page says %q", text)
}

// picture keeps what the page looks like, where RAIL_TEST_SCREENSHOTS names a
// directory.
func (b *tab) picture(name string) {
	b.t.Helper()
	dir := os.Getenv("RAIL_TEST_SCREENSHOTS")
	if dir == "" {
		return
	}
	shot, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	require.NoError(b.t, err)
	require.NoError(b.t, os.WriteFile(filepath.Join(dir, name+".png"), shot, 0o600))
}

// keepsFocus makes the browser complain of a script that moves the place from
// which Tab goes on: not every Chromium lets scrolling do so.
func (b *tab) keepsFocus() {
	b.t.Helper()
	_, err := chromedp.Run(b.ctx, func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
			Source: "Element.prototype.scrollIntoView = HTMLElement.prototype.focus = () => console.error('a script moves the focus')",
		})
		return chromedp.Void{}, err
	})
	require.NoError(b.t, err)
}

func (b *tab) scripts(on bool) {
	b.t.Helper()
	_, err := chromedp.Run(b.ctx, func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{
			Value: !on,
		})
		return chromedp.Void{}, err
	})
	require.NoError(b.t, err)
}

// TestInABrowser uses the portal on a phone's screen, with and without
// JavaScript. The browser must have nothing to complain of, such as something
// that the content security policy keeps out.
func TestInABrowser(t *testing.T) {
	t.Parallel()
	chromium(t)
	s := apitest.New(t, apitest.Loopback, func(c *config.Config) { c.BaseURL = "http://127.0.0.1:8080" })
	partner, shown := furnished(s)
	b := newTab(t, s.URL)
	b.keepsFocus()
	b.do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile))
	b.open(link(s, partner))
	require.Equal(t, s.URL+"/portal", eval[string](b, "location.href"))
	for _, path := range paths {
		b.open(path)
		require.LessOrEqual(t, eval[int](b, "document.documentElement.scrollWidth"), 390, "%s is wider than the screen", path)
		require.Equal(t, 1, eval[int](b, "document.querySelectorAll('h1').length"), path)
		require.Equal(t, path, eval[string](b, "document.querySelector('.menu [aria-current]').getAttribute('href')"))
		require.NotEqual(t, "rgba(0, 0, 0, 0)", eval[string](b, "getComputedStyle(document.body).backgroundColor"),
			"%s is styled", path)
		require.Equal(t, 0,
			eval[int](b,
				"[...document.querySelectorAll('main input:not([type=hidden])')].filter(i => !i.labels?.length && !i.ariaLabel).length"), "%s: inputs without a label", path)
		require.Equal(t, 0,
			eval[int](b,
				"[...document.querySelectorAll('main button, main input[type=text]')].filter(e => e.offsetParent && e.getBoundingClientRect().height < 40).length"), "%s: too small for a finger", path)
		require.True(t,
			eval[bool](b,
				"(r => r.left >= 0 && r.right <= innerWidth)(document.querySelector('.menu [aria-current]').getBoundingClientRect())"), "%s: the entry is in view", path)
		b.do(chromedp.KeyEvent(kb.Tab))
		require.Equal(t, "skip", eval[string](b, "document.activeElement.className"),
			"%s: the first Tab finds the way to the content", path)
		b.picture("phone" + strings.ReplaceAll(path, "/", "-"))
	}
	b.copies(shown)
	b.open("/portal/postback")
	b.submit("/portal/postback/rotate", nil)
	b.reads("Your signing secret")
	b.picture("phone-secret")
	b.open("/portal/settings")
	b.submit("/portal/settings/profile", map[string]string{"first_name": "Ada"})
	b.reads("Your profile is saved.")
	b.withoutScripts()
	b.scripts(true)
	b.do(chromedp.EmulateViewport(1200, 900))
	for _, path := range paths {
		b.open(path)
		b.picture("desktop" + strings.ReplaceAll(path, "/", "-"))
	}
	p := s.Get("/v1/partners/" + partner)
	require.Equal(t, []any{"Ada", "Lovelace", "paypal", true, false}, []any{
		p.Body["first_name"], p.Body["last_name"], p.Body["payout_method"], p.Body["completed_onboarding"],
		p.Body["email_payout_paid"],
	})
	b.submit("/portal/sign-out", nil)
	b.reads("You are signed out")
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(t, b.complaints)
}

// TestChartInABrowser: each amount of the scale stands at its line, also where
// months lie below zero, and the page says what a debt is.
func TestChartInABrowser(t *testing.T) {
	t.Parallel()
	chromium(t)
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
	b := newTab(t, s.URL)
	b.do(chromedp.EmulateViewport(1200, 900))
	b.open(link(s, partner))
	b.reads("Before your next payout")
	b.reads("will be taken from what you earn next")
	for name, width := range map[string]int64{"desktop-debt": 1200, "phone-debt": 390} {
		b.do(chromedp.EmulateViewport(width, 900))
		require.Positive(t, eval[int](b, "document.querySelectorAll('.column-down').length"))
		require.LessOrEqual(t, eval[float64](b, `(() => {
			const middles = selector => [...document.querySelectorAll(selector)].map(e => e.getBoundingClientRect()).map(r => r.top + r.height / 2)
			const lines = middles('.plot line'), words = middles('.scale text')
			return lines.length === words.length ? Math.max(...lines.map((y, i) => Math.abs(y - words[i]))) : Infinity
		})()`), 2.0, "pixels between a line and its amount")
		b.picture(name)
	}
}

// TestInABrowserAtHome: a server of a company's own network has a name, and no
// certificate. A browser says less to it about where a form comes from.
func TestInABrowserAtHome(t *testing.T) {
	t.Parallel()
	chromium(t)
	s := apitest.New(t, func(c *config.Config) { c.BaseURL = "http://rail.test" })
	b := newTab(t, strings.Replace(s.URL, "127.0.0.1", "rail.test", 1))
	partner := s.Partner(s.Program())
	b.open(link(s, partner))
	b.open("/portal/settings")
	b.submit("/portal/settings/profile", map[string]string{"first_name": "Ada"})
	b.reads("Your profile is saved.")
	require.Equal(t, "Ada", s.Get("/v1/partners/"+partner).String("first_name"))
}

// copies takes a link into the clipboard.
func (b *tab) copies(link string) {
	b.t.Helper()
	for _, name := range []string{"clipboard-read", "clipboard-write"} {
		_, err := chromedp.CallBrowser(b.ctx, cdp.SetPermission, cdp.SetPermissionParams{
			Permission: &cdp.PermissionDescriptor{Name: name}, Setting: cdp.PermissionSettingGranted, Origin: b.base,
		})
		require.NoError(b.t, err)
	}
	b.open("/portal/links")
	b.do(chromedp.Click(chromedp.CSS(".link [data-copy]")))
	b.reads("Copied")
	require.Equal(b.t, link, eval[string](b, "navigator.clipboard.readText()"))
}

// withoutScripts does what a partner comes for in a browser that runs none.
func (b *tab) withoutScripts() {
	b.t.Helper()
	b.scripts(false)
	b.open("/portal/links")
	require.Zero(b.t, eval[int](b, "[...document.querySelectorAll('[data-copy]')].filter(e => e.offsetParent).length"),
		"no buttons that do nothing")
	require.Positive(b.t, eval[int](b, "document.querySelectorAll('.copy input[readonly]').length"),
		"the links can be selected by hand")
	b.open("/portal/settings")
	b.submit("/portal/settings/profile", map[string]string{"last_name": "Lovelace"})
	b.reads("Your profile is saved.")
	b.do(chromedp.Click(chromedp.CSS(`a[href="/portal/settings?method=paypal#payout"]`)))
	b.submit("/portal/settings/payout", map[string]string{"email": "ada@example.com"})
	b.reads("Your payout method is saved.")
	b.reads("a•••@example.com")
	b.do(chromedp.Click(chromedp.CSS(`input[name="payout_paid"]`)))
	b.submit("/portal/settings/notifications", nil)
	b.reads("Your notifications are saved.")
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
