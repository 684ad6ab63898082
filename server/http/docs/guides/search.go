package guides

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"
	"github.com/yuin/goldmark/ast"
	source "github.com/yuin/goldmark/text"
)

// maxQuery bounds a search, in bytes.
const maxQuery = 200

// section is a part of a guide below one heading.
type section struct {
	Guide, Title, Heading, Anchor string

	prose  string
	folded string // all of it in lower case, with the code
}

// result is a section that has every word of a search, with the prose about the first.
type result struct {
	section
	Before, Word, After string

	weight int
}

// find answers a search with a page.
func find(c echo.Context) error {
	v := view{Guide: Guide{Title: "Search"}, Searched: true, Query: strings.TrimSpace(c.QueryParam("q"))}
	status := http.StatusOK
	if len(v.Query) > maxQuery {
		status, v.Query = http.StatusBadRequest, ""
		v.Problem = "The search q has more than 200 bytes. Search for fewer words."
	} else {
		v.Found = search(strings.ToValidUTF8(v.Query, ""))
	}
	text, err := render(v)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Cache-Control", shortly)
	return c.HTMLBlob(status, text)
}

// search returns the sections that have every word, those with a word in their headings
// first, and otherwise in the order of the guides.
func search(query string) []result {
	words := strings.Fields(strings.ToLower(query))
	var out []result
	for _, s := range sections() {
		r := result{section: s}
		heading := strings.ToLower(s.Title + " " + s.Heading)
		for _, word := range words {
			if !strings.Contains(s.folded, word) {
				r.weight = -1
				break
			}
			if strings.Contains(heading, word) {
				r.weight++
			}
		}
		if len(words) > 0 && r.weight >= 0 {
			r.Before, r.Word, r.After = excerpt(s.prose, words)
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b result) int { return b.weight - a.weight })
	return out
}

// around is how much of a section is shown before and after a word, in bytes.
const around = 90

// Found is a section of a guide that a search of words found.
type Found struct {
	Guide   string `json:"guide"`
	Heading string `json:"heading,omitempty"`
	URI     string `json:"uri"`
	Text    string `json:"text"`
}

// Find returns the sections that have every word, at most a number of them.
func Find(words []string, most int) []Found {
	out := []Found{}
	for _, r := range search(strings.Join(words, " ")) {
		if len(out) == most {
			break
		}
		out = append(out, Found{r.Guide, r.Heading, URI(r.Guide), r.Before + r.Word + r.After})
	}
	return out
}

// URI names a guide for programs.
func URI(name string) string { return "rail://guides/" + name }

// excerpt cuts the prose about the first word that it has, at spaces.
func excerpt(prose string, words []string) (before, word, after string) {
	lower := strings.ToLower(prose)
	if len(lower) != len(prose) { // a letter changed its length: places do not agree
		lower = prose
	}
	at, length := 0, 0
	for _, w := range words {
		if i := strings.Index(lower, w); i >= 0 {
			at, length = i, len(w)
			break
		}
	}
	before, word, after = prose[:at], prose[at:at+length], prose[at+length:]
	if len(before) > around {
		before = "… " + from(before[len(before)-around:])
	}
	if len(after) > 2*around {
		after = after[:2*around]
		after = after[:strings.LastIndex(after, " ")+1] + "…"
	}
	return before, word, after
}

// from drops the first word of a text, which may be cut.
func from(s string) string {
	_, rest, _ := strings.Cut(s, " ")
	return rest
}

// sections are the parts of all guides.
var sections = sync.OnceValue(func() []section {
	var out []section
	for _, g := range All() {
		out = append(out, split(g)...)
	}
	return out
})

// split cuts a guide at its headings.
func split(g Guide) []section {
	var out []section
	at := section{Guide: g.Name, Title: g.Title}
	var code strings.Builder
	end := func() {
		at.prose = strings.TrimSpace(at.prose)
		at.folded = strings.ToLower(strings.Join([]string{at.Title, at.Heading, at.prose, code.String()}, "\n"))
		out = append(out, at)
	}
	document := markdown.Parser().Parse(source.NewReader(g.Text))
	for n := document.FirstChild(); n != nil; n = n.NextSibling() {
		heading, isHeading := n.(*ast.Heading)
		_, isCode := n.(*ast.FencedCodeBlock)
		switch {
		case isHeading && heading.Level == 1:
		case isHeading:
			end()
			code.Reset()
			id, _ := n.AttributeString("id")
			anchor, _ := id.([]byte)
			at = section{Guide: g.Name, Title: g.Title, Heading: plain(n, g.Text), Anchor: string(anchor)}
		case isCode:
			code.Write(n.Lines().Value(g.Text))
		default:
			at.prose += plain(n, g.Text) + " "
		}
	}
	end()
	return out
}

// plain returns the text of a node without its markup.
func plain(n ast.Node, text []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch t, isText := n.(*ast.Text); {
		case isText && entering:
			b.Write(t.Segment.Value(text))
			if t.SoftLineBreak() {
				b.WriteByte(' ')
			}
		case !entering && n.Type() == ast.TypeBlock:
			b.WriteByte(' ')
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}
