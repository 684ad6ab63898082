package layout

import (
	"fmt"
	"html"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// Tab is one form of a block of code. Value is the same for the tabs that a reader chooses
// together.
type Tab struct{ Value, Title, Code string }

// Tabs shows one form of a block. Radio buttons choose it, so that it works without a
// script. id is of this block alone.
func Tabs(id, label string, all []Tab) string {
	var inputs, panels strings.Builder
	for i, t := range all {
		checked := ""
		if i == 0 {
			checked = " checked"
		}
		fmt.Fprintf(&inputs, `<input type="radio" name="%s" id="%s-%s" value="%s"%s><label for="%s-%s">%s</label>`,
			id, id, t.Value, t.Value, checked, id, t.Value, t.Title)
		panels.WriteString(Code(t.Code))
	}
	return `<div class="tabs"><p class="choice" role="radiogroup" aria-label="` + label + `">` +
		inputs.String() + "</p>\n" + panels.String() + "</div>\n"
}

// Code is code that can be scrolled by keys.
func Code(code string) string {
	return `<div class="code"><pre tabindex="0"><code>` + html.EscapeString(code) + "</code></pre></div>\n"
}

// Answer is the answer to a call, with the words above it.
func Answer(label, code string) string {
	return `<div class="answer"><p>` + label + `</p>` + Code(code) + "</div>\n"
}

// code renders the blocks of code of a text.
type code struct{}

// RegisterFuncs has the blocks rendered by block.
func (code) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindFencedCodeBlock, block)
	r.Register(ast.KindCodeBlock, block)
}

// block renders a block of any language.
func block(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkSkipChildren, nil
	}
	_, err := w.WriteString(Code(string(n.Lines().Value(source))))
	return ast.WalkSkipChildren, err
}
