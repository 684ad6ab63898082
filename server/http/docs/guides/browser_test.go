package guides_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"

	"rail/server/harness/browsertest"
	"rail/server/http/docs/guides"
)

// opened serves the pages to a browser.
func opened(t *testing.T) *browsertest.Tab {
	t.Helper()
	e := served()
	e.GET("/favicon.ico", func(c echo.Context) error { return c.NoContent(http.StatusNoContent) }) // of another package
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	return browsertest.New(t, server.URL)
}

// shows returns the code of the calls that the page shows first.
const shows = `[...document.querySelectorAll('.tabs:has([value=node]) pre')]
	.filter(pre => pre.checkVisibility())[0].textContent`

// TestTabsInABrowser chooses a language, which other pages remember, and copies code.
func TestTabsInABrowser(t *testing.T) {
	t.Parallel()
	b := opened(t)
	b.Open("/docs/guides/server")
	require.Contains(t, browsertest.Eval[string](b, shows), "program=$(post")
	b.Do(chromedp.Click(chromedp.CSS(`label[for$="-python"][for^="api"]`)))
	require.Contains(t, browsertest.Eval[string](b, shows), `program = post("programs"`)
	b.Open("/docs/guides/money")
	require.Contains(t, browsertest.Eval[string](b, shows), `program = post("programs"`)
	b.Do(chromedp.Click(chromedp.CSS(`.tabs:has([id^="api"]) .code:nth-of-type(3) button`)))
	b.Reads("Copied")
	require.Contains(t, b.Clipboard(), `program = post("programs"`)
	b.Silent()

	b.Scripts(false)
	b.Open("/docs/guides/errors")
	require.Contains(t, browsertest.Eval[string](b, shows), "program=$(post")
	b.Do(chromedp.Click(chromedp.CSS(`label[for$="-go"][for^="api"]`)))
	require.Contains(t, browsertest.Eval[string](b, shows), `program := post("programs"`)
	b.Do(chromedp.SendKeys(chromedp.CSS("#q"), "openapi-fetch"), chromedp.Click(chromedp.CSS("header button")))
	b.Scripts(true)
	b.Reads("1 section contains")
}

// TestAccessible looks at every page on a phone and on a desk.
func TestAccessible(t *testing.T) {
	t.Parallel()
	b := opened(t)
	paths := []string{"/docs/guides", "/docs/guides/search?q=refund"}
	for _, g := range guides.All() {
		paths = append(paths, "/docs/guides/"+g.Name)
	}
	b.Accessible(paths...)
}
