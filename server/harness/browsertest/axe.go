package browsertest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// A Violation is a finding of axe: a rule and the elements that violate it.
type Violation struct {
	Rule, Help string
	Nodes      []string // selectors, each with its fault
}

// axe returns the script of axe-core, which npm installs (make packages). Without it the test is skipped.
func axe(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	for root := dir; root != filepath.Dir(root); root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
			continue
		}
		script, err := os.ReadFile(filepath.Join(root, "node_modules", "axe-core", "axe.min.js"))
		if err == nil {
			return string(script)
		}
	}
	t.Skip("axe-core is not installed: the pages were not judged by it; make packages installs it")
	return ""
}

// Violations runs axe on the open page, with all rules or the named ones.
func (b *Tab) Violations(rules ...string) []Violation {
	b.t.Helper()
	if !Eval[bool](b, "!!window.axe") {
		_, err := chromedp.Run(b.Context, chromedp.Evaluate[bool](axe(b.t)+"\n;true"))
		require.NoError(b.t, err)
	}
	only := ""
	if len(rules) > 0 {
		only = `, runOnly: ["` + strings.Join(rules, `", "`) + `"]`
	}
	return Eval[[]Violation](b, `axe.run(document, { resultTypes: ['violations']`+only+` }).then(found => found.violations.map(v => ({
		Rule: v.id, Help: v.help, Nodes: v.nodes.map(n => n.target.join(' ') + ': ' + n.failureSummary),
	})))`)
}

// widths are those of a phone and of a desk.
var widths = []int64{390, 1280}

// Accessible checks pages on a phone and on a desktop, in light and in dark mode: axe finds nothing, the page is no
// wider than the screen, and the first Tab reaches the link to the content.
func (b *Tab) Accessible(paths ...string) {
	b.t.Helper()
	for _, width := range widths {
		b.Do(chromedp.EmulateViewport(width, 900))
		for _, path := range paths {
			b.Scheme("light")
			b.Open(path)
			where := path + " at " + strconv.FormatInt(width, 10)
			require.LessOrEqual(b.t, Eval[int64](b, "document.documentElement.scrollWidth"), width, where)
			require.Empty(b.t, b.Violations(), where)
			b.Do(chromedp.KeyEvent(kb.Tab))
			require.Equal(b.t, "skip", Eval[string](b, "document.activeElement.className"), where)
			Eval[bool](b, "document.activeElement.blur() ?? true")
			b.Picture(name(path) + "-" + strconv.FormatInt(width, 10) + "-light")
			// The schemes differ in their colours only.
			b.Scheme("dark")
			require.Empty(b.t, b.Violations(colours...), where+" in dark")
			b.Picture(name(path) + "-" + strconv.FormatInt(width, 10) + "-dark")
		}
	}
}

// colours are the rules of axe that depend on colours.
var colours = []string{"color-contrast", "link-in-text-block"}

// name returns the name of a page's picture.
func name(path string) string {
	path, _, _ = strings.Cut(path, "?")
	return strings.ReplaceAll(strings.Trim(path, "/"), "/", "-")
}
