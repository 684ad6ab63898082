package guides

import (
	"fmt"
	"html"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// tab is one form of a block. Value is the same for the tabs that a reader chooses
// together.
type tab struct{ value, title, code string }

// InContainer is how a command of rail begins beside compose.yaml.
const InContainer = "docker compose exec -T rail /"

// environment sets what the code of each page reads.
var environment = []tab{
	{"host", "On this machine", "export KEY=$(cat .rail/demo.key) RAIL=http://127.0.0.1:8080 PATH=$PWD/bin:$PWD:$PATH\n"},
	{"container", "In a container", "export KEY=$(" + InContainer + "rail key create --scope read --scope write --json |" +
		"\n" + `  sed -nE 's/.*"key": ?"([^"]+)".*/\1/p') RAIL=http://127.0.0.1:8080` + "\n"},
}

// commands are the forms of a block of rail's commands.
func commands(block string) []tab {
	inside := regexp.MustCompile(`(?m)^rail `).ReplaceAllString(block, InContainer+"rail ")
	return []tab{{"host", "rail", block}, {"container", "In a container", inside}}
}

// translated are the forms of a block of calls.
func translated(write func(language) string) []tab {
	var out []tab
	for _, l := range languages {
		out = append(out, tab{l.name, l.title, write(l)})
	}
	return out
}

// generated finds the blocks whose code is written from a declaration.
var generated = regexp.MustCompile("(?ms)^```(setup|api|rail)\n(.*?)^```$")

// expand returns a guide with every such block as one for the shell, on this machine
// or in a container.
func expand(source string, container bool) string {
	form := 0
	if container {
		form = 1
	}
	return generated.ReplaceAllStringFunc(source, func(found string) string {
		m := generated.FindStringSubmatch(found)
		code := ""
		switch m[1] {
		case "setup":
			code = environment[form].code + curl.setup()
		case "api":
			code = curl.code(m[2])
		case "rail":
			code = commands(m[2])[form].code
		}
		return "```sh\n" + code + "```"
	})
}

// blocks renders the fenced blocks of a page.
type blocks struct{}

// RegisterFuncs has the blocks rendered by fenced.
func (blocks) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindFencedCodeBlock, fenced)
	r.Register(ast.KindCodeBlock, indented)
}

// indented renders a block without a language.
func indented(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkSkipChildren, nil
	}
	_, err := w.WriteString(block(string(n.Lines().Value(source))))
	return ast.WalkSkipChildren, err
}

// sources are the languages of files. Files that follow each other are tabs of one block.
var sources = map[string]tab{
	"js": {"node", "Node", ""}, "ts": {"node", "TypeScript", ""}, "python": {"python", "Python", ""}, "go": {"go", "Go", ""},
}

// fenced renders a block by its language.
func fenced(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkSkipChildren, nil
	}
	kind, code := content(n, source)
	id := 0 // of the setup, which has no lines
	if n.Lines().Len() > 0 {
		id = n.Lines().At(0).Start
	}
	var out string
	switch {
	case kind == "setup":
		out = `<details class="setup"><summary>Setup: API key and helper functions</summary>` + "\n" +
			tabs("key", "Server", environment) +
			tabs("setup", "Language", translated(language.setup)) + "</details>\n"
	case kind == "api":
		out = tabs(fmt.Sprint("api", id), "Language", translated(func(l language) string { return l.code(code) }))
	case kind == "rail":
		out = tabs(fmt.Sprint("rail", id), "Server", commands(code))
	case kind == "json":
		out = `<div class="answer"><p>Answer, shortened</p>` + block(code) + "</div>\n"
	case sources[kind].value != "":
		out = program(n, source, id)
	default:
		out = block(code)
	}
	_, err := w.WriteString(out)
	return ast.WalkSkipChildren, err
}

// program returns the tabs of files that follow each other; "" for the second and later.
func program(n ast.Node, source []byte, id int) string {
	is := func(n ast.Node) bool {
		if n == nil || n.Kind() != ast.KindFencedCodeBlock {
			return false
		}
		kind, _ := content(n, source)
		return sources[kind].value != ""
	}
	if is(n.PreviousSibling()) {
		return ""
	}
	var all []tab
	for ; is(n); n = n.NextSibling() {
		kind, code := content(n, source)
		all = append(all, tab{sources[kind].value, sources[kind].title, code})
	}
	if len(all) == 1 {
		return block(all[0].code)
	}
	return tabs(fmt.Sprint("file", id), "Language", all)
}

// content returns the language and the text of a fenced block.
func content(n ast.Node, source []byte) (kind, code string) {
	f, _ := n.(*ast.FencedCodeBlock)
	return string(f.Language(source)), string(f.Lines().Value(source))
}

// tabs shows one form of a block. Radio buttons choose it, so that it works without a
// script.
func tabs(id, label string, all []tab) string {
	var inputs, panels strings.Builder
	for i, t := range all {
		checked := ""
		if i == 0 {
			checked = " checked"
		}
		fmt.Fprintf(&inputs, `<input type="radio" name="%s" id="%s-%s" value="%s"%s><label for="%s-%s">%s</label>`,
			id, id, t.value, t.value, checked, id, t.value, t.title)
		panels.WriteString(block(t.code))
	}
	return `<div class="tabs"><p class="choice" role="radiogroup" aria-label="` + label + `">` +
		inputs.String() + "</p>\n" + panels.String() + "</div>\n"
}

// block is code that can be scrolled by keys.
func block(code string) string {
	return `<div class="code"><pre tabindex="0"><code>` + html.EscapeString(code) + "</code></pre></div>\n"
}
