package mail

import (
	"bytes"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// Private-use runes around a placeholder's number, which replace the placeholder while Markdown is parsed. Markdown
// treats them as letters, and texts are stripped of them.
const markOpen, markShut = "\ue000", "\ue001"

// marked matches the place of a placeholder.
var marked = regexp.MustCompile(markOpen + `(\d+)` + markShut)

// document is a text in Markdown, parsed once for the HTML and for the plain text. Values of placeholders are put in
// after parsing, so that they are never markup.
type document struct {
	source []byte // the text, and after it the values
	root   ast.Node
	parts  []part
}

// parse parses Markdown and puts the values of placeholders in.
func parse(markdown string, values Values) document {
	var d document
	source := values.replace(marks.Replace(markdown), func(p part) string {
		d.parts = append(d.parts, p)
		return markOpen + strconv.Itoa(len(d.parts)-1) + markShut
	})
	d.source = []byte(source)
	d.root = goldmark.DefaultParser().Parse(text.NewReader(d.source))
	if len(d.parts) > 0 {
		d.fill()
	}
	return d
}

// fill replaces the places of placeholders by values.
func (d *document) fill() {
	var places []ast.Node // replaced after the walk, which needs the tree as it is
	_ = ast.Walk(d.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text, *ast.AutoLink:
			places = append(places, n)
		case *ast.Link:
			n.Destination, n.Title = d.address(n.Destination), d.words(n.Title)
		case *ast.Image:
			n.Destination, n.Title = d.address(n.Destination), d.words(n.Title)
		case *ast.CodeBlock:
			n.SetLines(d.lines(n.Lines()))
		case *ast.FencedCodeBlock:
			n.SetLines(d.lines(n.Lines()))
		}
		return ast.WalkContinue, nil
	})
	for _, n := range places {
		switch n := n.(type) {
		case *ast.Text:
			d.fillText(n)
		case *ast.AutoLink:
			d.fillAutoLink(n)
		}
	}
}

// add appends a value to the source and returns its place.
func (d *document) add(value string) text.Segment {
	start := len(d.source)
	d.source = append(d.source, value...)
	return text.NewSegment(start, len(d.source))
}

// piece is a part of a text: a segment of the source, or a placeholder.
type piece struct {
	text.Segment
	part *part
}

// split splits a segment at its placeholders. A segment without any is one piece.
func (d *document) split(s text.Segment) (out []piece) {
	at := s.Start
	for _, m := range marked.FindAllSubmatchIndex(d.source[s.Start:s.Stop], -1) {
		if i, err := strconv.Atoi(string(d.source[s.Start+m[2] : s.Start+m[3]])); err == nil {
			out = append(out, piece{Segment: text.NewSegment(at, s.Start+m[0])}, piece{d.add(d.parts[i].value), &d.parts[i]})
			at = s.Start + m[1]
		}
	}
	rest := s.WithStart(at)
	return append(out, piece{Segment: rest})
}

// fillText replaces a text with placeholders by several. An address becomes a link, unless it is in one.
func (d *document) fillText(n *ast.Text) {
	pieces := d.split(n.Segment)
	if len(pieces) == 1 {
		return
	}
	parent, linked := n.Parent(), false
	for p := ast.Node(n); p != nil; p = p.Parent() {
		_, link := p.(*ast.Link)
		_, image := p.(*ast.Image)
		_, code := p.(*ast.CodeSpan)
		linked = linked || link || image || code
	}
	for _, p := range pieces[:len(pieces)-1] {
		var one ast.Node = ast.NewTextSegment(p.Segment)
		if p.part != nil {
			one = ast.NewRawTextSegment(p.Segment)
		}
		if p.part != nil && p.part.isAddress() && !linked {
			link := ast.NewLink()
			link.Destination = []byte(p.part.value)
			link.AppendChild(link, one)
			one = link
		}
		parent.InsertBefore(parent, n, one)
	}
	n.Segment = pieces[len(pieces)-1].Segment // with the line break after it
}

// fillAutoLink replaces an address in angle brackets with placeholders by a link.
func (d *document) fillAutoLink(n *ast.AutoLink) {
	label := n.Label(d.source)
	if !marked.Match(label) {
		return
	}
	link := ast.NewLink()
	link.Destination = d.address(n.URL(d.source))
	link.AppendChild(link, ast.NewRawTextSegment(d.add(string(link.Destination))))
	n.Parent().ReplaceChild(n.Parent(), n, link)
}

// lines puts values into the lines of code.
func (d *document) lines(in *text.Segments) *text.Segments {
	out := text.NewSegments()
	for _, s := range in.Sliced(0, in.Len()) {
		for _, p := range d.split(s) {
			out.Append(p.Segment)
		}
	}
	return out
}

// words puts values into the title of a link.
func (d *document) words(title []byte) []byte {
	return d.each(title, func(p part, _ bool) string { return p.value })
}

// address puts values into an address: escaped, unless the address begins with the value, which is one itself.
func (d *document) address(to []byte) []byte {
	return d.each(to, func(p part, begins bool) string {
		if begins && p.isAddress() {
			return p.value
		}
		return strings.ReplaceAll(url.QueryEscape(p.value), "+", "%20")
	})
}

// each replaces the placeholders of a text, which begins with one of them or not.
func (d *document) each(in []byte, with func(p part, begins bool) string) []byte {
	if !bytes.Contains(in, []byte(markOpen)) {
		return in
	}
	return marked.ReplaceAllFunc(in, func(found []byte) []byte {
		i, _ := strconv.Atoi(string(marked.FindSubmatch(found)[1]))
		return []byte(with(d.parts[i], bytes.HasPrefix(in, found)))
	})
}
