// Package browsertest is a real browser for tests of pages: a tab that complains where
// a page does, axe, which finds what keeps people out, and pictures.
package browsertest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"rail/server/harness/wait"
)

// limit is the longest time of a test in its browser, also on a busy machine.
const limit = 5 * time.Minute

// Chromium finds a browser; RAIL_TEST_BROWSER names one. Without any the test is
// skipped.
func Chromium(t testing.TB) string {
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
	t.Skip("no Chromium found: the pages were not looked at in a browser; install one, or name it with RAIL_TEST_BROWSER")
	return ""
}

// Tab is a page of a new browser, with its error messages, such as violations of the content security policy.
type Tab struct {
	Context context.Context //nolint:containedctx // chromedp keeps the browser in it
	t       testing.TB
	base    string

	mu         sync.Mutex
	complaints []string
}

// New opens a browser whose pages are those of a server: base is the first part of
// their addresses. The host rail.test is this machine.
func New(t testing.TB, base string) *Tab {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(Chromium(t)), chromedp.DisableGPU,
		chromedp.Flag("disable-component-update", true), chromedp.Flag("host-resolver-rules", "MAP rail.test 127.0.0.1"),
		chromedp.UserDataDir(t.TempDir()))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, end := context.WithTimeout(t.Context(), limit)
	t.Cleanup(end)
	ctx, stop := chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(stop)
	ctx, closed := chromedp.NewContext(ctx)
	t.Cleanup(closed)
	b := &Tab{Context: ctx, t: t, base: base}
	messages := chromedp.Console(ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			b.mu.Lock()
			if !strings.Contains(m.String(), passwordAdvice) {
				b.complaints = append(b.complaints, m.String())
			}
			b.mu.Unlock()
		}
	}()
	return b
}

// Do takes steps of chromedp.
func (b *Tab) Do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.Context, steps...))
}

// Open opens a page.
func (b *Tab) Open(path string) {
	b.t.Helper()
	b.Do(chromedp.Navigate(b.base + path))
}

// Eval runs the test's expression in the page.
func Eval[T any](b *Tab, expression string) T {
	b.t.Helper()
	out, err := chromedp.Run(b.Context, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(b.t, err, expression)
	return out
}

// Submit fills the empty fields of a form and clicks its button.
func (b *Tab) Submit(form string, fields map[string]string) {
	b.t.Helper()
	for name, value := range fields {
		field := chromedp.CSS(`form[action="` + form + `"] input[name="` + name + `"]`)
		b.Do(chromedp.SendKeys(field, value))
	}
	b.Do(chromedp.Click(chromedp.CSS(`form[action="` + form + `"] button[type="submit"]`)))
}

// Reads waits until the page contains a text and its scripts have run.
func (b *Tab) Reads(text string) {
	b.t.Helper()
	wait.Until(b.t, func() bool {
		shown, err := chromedp.Run(b.Context, chromedp.Evaluate[string]("document.readyState == 'complete' ? document.body.innerText : ''"))
		return err == nil && strings.Contains(shown, text)
	}, "the page says %q", text)
}

// passwordAdvice is in Chromium's advice on password forms. A form may have a secret and the password that confirms it.
const passwordAdvice = "goo.gl/9p2vKq"

// Silent fails the test if the browser has reported an error.
func (b *Tab) Silent() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(b.t, b.complaints)
}

// Picture saves a screenshot of the page if RAIL_TEST_SCREENSHOTS names a directory.
func (b *Tab) Picture(name string) {
	b.t.Helper()
	dir := os.Getenv("RAIL_TEST_SCREENSHOTS")
	if dir == "" {
		return
	}
	shot, err := chromedp.Run(b.Context, chromedp.FullScreenshot(100))
	require.NoError(b.t, err)
	require.NoError(b.t, os.WriteFile(filepath.Join(dir, name+".png"), shot, 0o600))
}

// KeepsFocus makes the browser report a script that moves the starting point of Tab; not every Chromium does so when
// scrolling.
func (b *Tab) KeepsFocus() {
	b.t.Helper()
	const source = "Element.prototype.scrollIntoView = HTMLElement.prototype.focus = " +
		"() => console.error('a script moves the focus')"
	b.OnLoad(source)
}

// OnLoad runs a script before those of every page that is opened from now on.
func (b *Tab) OnLoad(script string) {
	b.t.Helper()
	call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
}

// Clipboard returns the text that the page has copied.
func (b *Tab) Clipboard() string {
	b.t.Helper()
	for _, name := range []string{"clipboard-read", "clipboard-write"} {
		_, err := chromedp.CallBrowser(b.Context, browser.SetPermission, browser.SetPermissionParams{
			Permission: &browser.PermissionDescriptor{Name: name}, Setting: browser.PermissionSettingGranted, Origin: b.base,
		})
		require.NoError(b.t, err)
	}
	return Eval[string](b, "navigator.clipboard.readText()")
}

// Download returns the file with a name that a step downloads.
func (b *Tab) Download(name string, step func()) string {
	b.t.Helper()
	dir := b.t.TempDir()
	progress := chromedp.BrowserEvents(b.Context, browser.DownloadProgress)
	_, err := chromedp.CallBrowser(b.Context, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: dir, EventsEnabled: new(true),
	})
	require.NoError(b.t, err)
	step()
	// The file may exist before its content.
	for at, err := range progress {
		require.NoError(b.t, err)
		if at.State != browser.DownloadProgressStateInProgress {
			require.Equal(b.t, browser.DownloadProgressStateCompleted, at.State, name)
			break
		}
	}
	file, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(b.t, err)
	return string(file)
}

// Scripts turns the scripts of pages on or off.
func (b *Tab) Scripts(on bool) {
	b.t.Helper()
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on})
}

// Scheme sets the browser's preferred colour scheme: light or dark.
func (b *Tab) Scheme(name string) {
	b.t.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
	})
}

// Zone sets the time zone of the browser, such as Europe/Berlin.
func (b *Tab) Zone(name string) {
	b.t.Helper()
	call(b, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: name})
}

// Language sets the language that the browser prefers, such as de.
func (b *Tab) Language(tag string) {
	b.t.Helper()
	call(b, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{
		UserAgent: Eval[string](b, "navigator.userAgent"), AcceptLanguage: tag,
	})
}

// call sends a command of the browser's protocol.
func call[P, R any](b *Tab, command cdp.Command[P, R], params P) {
	b.t.Helper()
	_, err := chromedp.Call(b.Context, command, params)
	require.NoError(b.t, err, command.Method)
}
