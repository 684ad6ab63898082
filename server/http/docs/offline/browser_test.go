package offline_test

import (
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"rail/server/harness/browsertest"
)

// TestSearchInABrowser searches by keys, in files without a server.
func TestSearchInABrowser(t *testing.T) {
	t.Parallel()
	b := browsertest.New(t, written(t))
	first := func() []string {
		return browsertest.Eval[[]string](b, `[...document.querySelectorAll('#found a')].slice(0, 1).map(a => a.getAttribute('href'))`)
	}
	b.Open("/guides/webhooks.html")
	b.Do(chromedp.SendKeys(chromedp.CSS("#q"), "Retry REQUEST"+kb.Enter))
	b.Reads("sections contain “Retry REQUEST”.")
	require.Equal(t, []string{"guides/errors.html#retry-a-request"}, first())
	for query, link := range map[string]string{
		"clawback":                  "guides/money.html#refund-a-sale",
		"refund a sale":             "guides/money.html#refund-a-sale",
		"rehearse a sale":           "reference/sales.html#rehearseSale",
		"rail_mail_failing_seconds": "operation/operating.html#monitoring",
		"data-checkout-hosts":       "operation/script.html#attributes-of-the-tag",
		"<script>alert(1)":          "",
		"clawback xyzzy":            "",
		"affiliate_coupon.deleted":  "reference/events.html#affiliate_coupon.deleted",
	} {
		b.Open("/search.html")
		b.Do(chromedp.SendKeys(chromedp.CSS("#q"), query))
		if link == "" {
			b.Reads("No section contains “" + query + "”.")
			require.Empty(t, first(), query)
			continue
		}
		b.Reads("“" + query + "”.")
		require.Equal(t, []string{link}, first(), query)
	}
	b.Open("/search.html?q=clawback")
	b.Reads("contain “clawback”.")
	require.Equal(t, "clawback", browsertest.Eval[string](b, "document.querySelector('#found mark').textContent.toLowerCase()"))
	b.Do(chromedp.Click(chromedp.CSS("#found a")))
	b.Reads("Refund a sale")
	require.Equal(t, "#refund-a-sale", browsertest.Eval[string](b, "location.hash"))
	b.Do(chromedp.Click(chromedp.CSS("nav a")))
	b.Reads("Set up with a script tag")
	b.Silent()
}

// TestTabsInABrowser chooses a language in a guide, which the reference remembers.
func TestTabsInABrowser(t *testing.T) {
	t.Parallel()
	b := browsertest.New(t, written(t))
	b.Open("/guides/server.html")
	b.Do(chromedp.Click(chromedp.CSS(`label[for$="-python"][for^="api"]`)))
	b.Open("/reference/sales.html")
	require.True(t, browsertest.Eval[bool](b, `document.querySelector('#sample-createSale-python').checked`))
	b.Reads(`rail.sales.create(`)
	b.Silent()
}

// TestAccessible looks at a page of each form from a static host, on a phone and on a desk, in light and in dark.
func TestAccessible(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.FileServer(http.Dir(strings.TrimPrefix(written(t), "file://"))))
	t.Cleanup(server.Close)
	b := browsertest.New(t, server.URL)
	b.Accessible("/index.html", "/guides/errors.html", "/reference/index.html", "/reference/referrals.html",
		"/operation/http.html", "/operation/console.html", "/search.html?q=refund")
	b.Silent()
}

// TestFilesAreSilent opens every page as a file. The browser reports no error, and no page is wider than a phone.
func TestFilesAreSilent(t *testing.T) {
	t.Parallel()
	b := browsertest.New(t, written(t))
	b.Do(chromedp.EmulateViewport(390, 900))
	for name := range exported(t) {
		if path.Ext(name) == ".html" {
			b.Open("/" + name)
			require.LessOrEqual(t, browsertest.Eval[int64](b, "document.documentElement.scrollWidth"), int64(390), name)
			require.Zero(t, browsertest.Eval[int](b, "[...document.images].filter(i => !i.naturalWidth).length"), name)
		}
	}
	b.Silent()
}
