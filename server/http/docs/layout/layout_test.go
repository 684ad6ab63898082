package layout_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/http/docs/layout"
)

const text = `# A *title*

The first [page](page.md). Another sentence.

| A | B |
|---|---|
| [a](a.md) | ![the b](b.png) |

## Part **two**

Words of [a ` + "`file`" + `, **bold**](gone.go) end.

` + "```go\nfunc <T>\n```" + `

    indented
`

// TestLinks changes the links of a text. A link that leads nowhere becomes its words.
func TestLinks(t *testing.T) {
	t.Parallel()
	var addresses []string
	html, err := layout.NewMarkdown().HTML([]byte(text), func(to string) (string, bool) {
		addresses = append(addresses, to)
		return strings.Replace(to, ".md", ".html", 1), to != "gone.go"
	})
	require.NoError(t, err)
	require.Equal(t, []string{"page.md", "a.md", "b.png", "gone.go"}, addresses)
	for _, want := range []string{
		`<h2 id="part-two">Part <strong>two</strong></h2>`, `<a href="page.html">page</a>`, `<a href="a.html">a</a>`,
		`<img src="b.png" alt="the b"`, `<p>Words of a <code>file</code>, <strong>bold</strong> end.</p>`,
		`<div class="table" tabindex="0"><table>`, `<pre tabindex="0"><code>func &lt;T&gt;` + "\n</code></pre>",
		`<pre tabindex="0"><code>indented` + "\n</code></pre>",
	} {
		require.Contains(t, string(html), want)
	}
}

// TestSections cuts a text at its headings.
func TestSections(t *testing.T) {
	t.Parallel()
	m := layout.NewMarkdown()
	title, about := m.Opening([]byte(text))
	require.Equal(t, []string{"A title", "The first page."}, []string{title, about})
	require.Equal(t, []layout.Section{
		{Prose: "The first page. Another sentence. A B a the b"},
		{Heading: "Part two", Anchor: "part-two", Prose: "Words of a file, bold end.", Code: "func <T>\nindented\n"},
	}, m.Sections([]byte(text)))
	require.Equal(t, []layout.Section{{}}, m.Sections(nil))
}
