package layout

import (
	"bytes"
	"html/template"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Markdown turns texts into HTML. It has tables, headings that can be linked to, and code
// that can be scrolled by keys.
type Markdown struct{ converter goldmark.Markdown }

// NewMarkdown returns a Markdown. A caller can render kinds of nodes itself, such as blocks of code.
func NewMarkdown(nodes ...renderer.NodeRenderer) Markdown {
	all := []util.PrioritizedValue{util.Prioritized(code{}, 2)}
	for _, one := range nodes {
		all = append(all, util.Prioritized(one, 1))
	}
	return Markdown{goldmark.New(
		goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(all...)),
	)}
}

// Follow returns the target of a text's link, as its page writes it. With false the page has only the words of the
// link.
type Follow func(to string) (string, bool)

// HTML returns a text as HTML, with the links that follow returns.
func (m Markdown) HTML(source []byte, follow Follow) (template.HTML, error) {
	document := m.converter.Parser().Parse(text.NewReader(source))
	relink(document, follow)
	var body bytes.Buffer
	if err := m.converter.Renderer().Render(&body, source, document); err != nil {
		return "", err
	}
	return template.HTML(strings.NewReplacer( // #nosec G203 -- the text is the binary's own
		`<table>`, `<div class="table" tabindex="0"><table>`, `</table>`, `</table></div>`,
	).Replace(body.String())), nil
}

// relink changes the links and pictures of a text.
func relink(document ast.Node, follow Follow) {
	var dropped []ast.Node
	_ = ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		var to *[]byte
		switch n := n.(type) {
		case *ast.Link:
			to = &n.Destination
		case *ast.Image:
			to = &n.Destination
		default:
			return ast.WalkContinue, nil
		}
		if !entering {
			return ast.WalkContinue, nil
		}
		next, ok := follow(string(*to))
		if !ok {
			dropped = append(dropped, n)
		}
		*to = []byte(next)
		return ast.WalkContinue, nil
	})
	for _, n := range dropped {
		for words := n.FirstChild(); words != nil; words = n.FirstChild() {
			n.Parent().InsertBefore(n.Parent(), n, words)
		}
		n.Parent().RemoveChild(n.Parent(), n)
	}
}

// Opening returns the title of a text, and the first sentence below it.
func (m Markdown) Opening(of []byte) (title, about string) {
	document := m.converter.Parser().Parse(text.NewReader(of))
	for n := document.FirstChild(); n != nil; n = n.NextSibling() {
		switch n.(type) {
		case *ast.Heading:
			title = plain(n, of)
		case *ast.Paragraph:
			if first, _, more := strings.Cut(plain(n, of), ". "); more {
				return title, first + "."
			}
			return title, plain(n, of)
		}
	}
	return title, ""
}

// Section is a part of a text below one heading. The first has none.
type Section struct {
	Heading, Anchor string
	Prose, Code     string
}

// Sections cuts a text at its headings.
func (m Markdown) Sections(of []byte) []Section {
	var out []Section
	var at Section
	document := m.converter.Parser().Parse(text.NewReader(of))
	for n := document.FirstChild(); n != nil; n = n.NextSibling() {
		heading, isHeading := n.(*ast.Heading)
		_, isFenced := n.(*ast.FencedCodeBlock)
		_, isIndented := n.(*ast.CodeBlock)
		switch {
		case isHeading && heading.Level == 1:
		case isHeading:
			out = append(out, at)
			id, _ := n.AttributeString("id")
			anchor, _ := id.([]byte)
			at = Section{Heading: plain(n, of), Anchor: string(anchor)}
		case isFenced || isIndented:
			at.Code += string(n.Lines().Value(of))
		default:
			at.Prose = strings.TrimSpace(at.Prose + " " + plain(n, of))
		}
	}
	return append(out, at)
}

// plain returns the text of a node without its markup.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch t, isText := n.(*ast.Text); {
		case isText && entering:
			b.Write(t.Segment.Value(source))
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
