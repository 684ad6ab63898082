package mail

import (
	"bufio"
	"bytes"
	"html"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	render "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// rule is a line across the plain text.
const rule = "----------"

// text returns the document as plain text, without the signs of Markdown. The address of a link follows its text.
func (d document) text() string { return d.blocks(d.root, "\n\n") }

// blocks returns the blocks in n, with a separator between them.
func (d document) blocks(n ast.Node, between string) string {
	var out []string
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if one := d.block(c); one != "" {
			out = append(out, one)
		}
	}
	return strings.Join(out, between)
}

// block returns one block.
func (d document) block(n ast.Node) string {
	switch n := n.(type) {
	case *ast.Blockquote:
		return "> " + strings.ReplaceAll(d.blocks(n, "\n\n"), "\n", "\n> ")
	case *ast.List:
		return d.list(n)
	case *ast.ThematicBreak:
		return rule
	case *ast.CodeBlock:
		return d.code(n.Lines())
	case *ast.FencedCodeBlock:
		return d.code(n.Lines())
	case *ast.HTMLBlock, *ast.LinkReferenceDefinition: // absent from the HTML, too
		return ""
	}
	return strings.TrimSpace(d.inline(n))
}

// list returns a list, with an item on each line.
func (d document) list(n *ast.List) string {
	between, number := "\n\n", n.Start
	if n.IsTight {
		between = "\n"
	}
	var out []string
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		sign := "- "
		if n.IsOrdered() {
			sign = strconv.Itoa(number) + ". "
			number++
		}
		indent := "\n" + strings.Repeat(" ", len(sign))
		out = append(out, sign+strings.ReplaceAll(d.blocks(c, between), "\n", indent))
	}
	return strings.Join(out, between)
}

// code returns the lines of code.
func (d document) code(lines *text.Segments) string {
	return strings.TrimRight(string(lines.Value(d.source)), "\n")
}

// inline returns the text in n.
func (d document) inline(n ast.Node) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			b.WriteString(d.unescaped(c))
		case *ast.String:
			b.Write(c.Value)
		case *ast.Link:
			b.WriteString(described(d.inline(c), string(c.Destination)))
		case *ast.AutoLink:
			b.Write(c.Label(d.source))
		case *ast.RawHTML: // absent from the HTML, too
		default:
			b.WriteString(d.inline(c))
		}
	}
	return b.String()
}

// unescaped returns the text of a node, without escapes and entities.
func (d document) unescaped(n *ast.Text) string {
	value := n.Segment.Value(d.source)
	_, code := n.Parent().(*ast.CodeSpan)
	if n.IsRaw() || code {
		return strings.ReplaceAll(string(value), "\n", " ")
	}
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	render.DefaultWriter.Write(w, value)
	_ = w.Flush()
	out := html.UnescapeString(b.String())
	if n.SoftLineBreak() || n.HardLineBreak() {
		out += "\n"
	}
	return out
}

// described returns a link: its text, then its address.
func described(words, to string) string {
	shown := strings.TrimPrefix(to, "mailto:")
	switch words = strings.TrimSpace(words); {
	case words == "" || words == shown || words == to:
		return shown
	case to == "" || render.IsDangerousURL([]byte(to)):
		return words
	}
	return strings.TrimSuffix(words, ":") + ": " + shown
}
