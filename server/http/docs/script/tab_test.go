package script_test

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"rail/server/harness/wait"
)

// browser returns the path of a browser, or "". RAIL_TEST_BROWSER can name one.
func browser() string {
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
	return ""
}

// chromium returns the path of a browser, and skips the test if there is none.
func chromium(t *testing.T) string {
	t.Helper()
	path := browser()
	if path == "" {
		t.Skip("no Chromium found: install one, or name a browser with RAIL_TEST_BROWSER")
	}
	return path
}

// visitor is the User-Agent of a desktop browser. Rail takes the one of a headless browser for a robot.
const visitor = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/148.0.0.0 Safari/537.36"

// tab is a page in a separate browser. It collects the uncaught errors of its pages.
type tab struct {
	t      *testing.T
	w      *world
	ctx    context.Context
	mu     sync.Mutex
	errors []string // console lines, without the script's debug lines
	debug  []string // the script's debug lines, without their prefix
}

// patient makes the script wait a minute for Rail instead of three seconds, because the machine may be busy.
const patient = "const soon = setTimeout; window.setTimeout = (f, ms, ...rest) => soon(f, ms == 3e3 ? 6e4 : ms, ...rest)"

// newTab opens a browser that looks like a visitor's browser.
func newTab(t *testing.T, w *world, options ...chromedp.ExecAllocatorOption) *tab {
	t.Helper()
	b := newHasty(t, w, options...)
	_, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument,
		page.AddScriptToEvaluateOnNewDocumentParams{Source: patient})
	require.NoError(t, err)
	return b
}

// newHasty is newTab with the script's timeout of three seconds.
func newHasty(t *testing.T, w *world, options ...chromedp.ExecAllocatorOption) *tab {
	t.Helper()
	options = append(append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium(t)), chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("host-resolver-rules", "MAP *.test 127.0.0.1"), chromedp.Flag("enable-automation", false),
		chromedp.Flag("disable-blink-features", "AutomationControlled"), chromedp.UserAgent(visitor)), options...)
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, end := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(end)
	ctx, stop := chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(stop)
	ctx, closed := chromedp.NewContext(ctx)
	t.Cleanup(closed)
	b := &tab{t: t, w: w, ctx: ctx}
	messages := chromedp.Console(ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			b.mu.Lock()
			if text, ok := strings.CutPrefix(m.Text, "Rail: "); ok {
				b.debug = append(b.debug, text)
			} else {
				b.errors = append(b.errors, m.String())
			}
			b.mu.Unlock()
		}
	}()
	return b
}

// open opens a page.
func (b *tab) open(page string) {
	b.t.Helper()
	_, err := chromedp.Run(b.ctx, chromedp.Navigate(b.w.at(page)))
	require.NoError(b.t, err, page)
}

// eval evaluates an expression in the page.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	out, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(b.t, err, expression)
	return out
}

// run runs statements in the page.
func (b *tab) run(statements string) {
	b.t.Helper()
	eval[bool](b, "(async () => {"+statements+"; return true})()")
}

// until waits until an expression in the page is true.
func (b *tab) until(condition string) {
	b.t.Helper()
	wait.Until(b.t, func() bool {
		ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("!!("+condition+")"))
		return err == nil && ok
	}, "the page has %s", condition)
}

// result is the result of rail('get').
type result struct {
	ClickID string `json:"click_id"`
	Partner struct{ Name, Handle string }
}

// settled waits until the script is ready, and returns its click, or nil if there is none.
func (b *tab) settled() *result {
	b.t.Helper()
	b.until("window.Rail")
	return eval[*result](b, "new Promise(done => rail('ready', done))")
}

// follow sends a link a pointerdown event, and returns its address.
func (b *tab) follow(selector string) string {
	b.t.Helper()
	return eval[string](b, `(a => {
		a.dispatchEvent(new PointerEvent('pointerdown', { bubbles: true, composed: true }))
		return a.href
	})(document.querySelector('`+selector+`'))`)
}

// says waits until the script has logged a text in its debug mode.
func (b *tab) says(text string) {
	b.t.Helper()
	wait.Until(b.t, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return strings.Contains(strings.Join(b.debug, "\n"), text)
	}, "the console has %q", text)
}

// silent requires that the pages threw and logged nothing. It ignores the browser's own
// messages about failed requests.
func (b *tab) silent() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(b.t, slices.DeleteFunc(slices.Clone(b.errors), func(e string) bool {
		return strings.Contains(e, "Failed to load resource")
	}))
}

// TestErrorsAreSeen: a tab collects the uncaught errors of its page.
func TestErrorsAreSeen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.page("shop.test/", "<script>setTimeout(() => { throw Error('one') }); Promise.reject(Error('two'))</script>", "")
	b := newTab(t, w)
	b.open("shop.test/")
	for _, text := range []string{"one", "two"} {
		wait.Until(t, func() bool {
			b.mu.Lock()
			defer b.mu.Unlock()
			return strings.Contains(strings.Join(b.errors, " "), text)
		}, "the tab has the error %q", text)
	}
}
