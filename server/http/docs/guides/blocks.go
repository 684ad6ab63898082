package guides

import (
	"fmt"
	"regexp"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	"rail/server/http/docs/layout"
)

// InContainer is the beginning of a rail command beside compose.yaml.
const InContainer = "docker compose exec -T rail /"

// environment sets what the code of each page reads.
var environment = []layout.Tab{
	{
		Value: "host", Title: "On this machine",
		Code: "export KEY=$(cat .rail/demo.key) RAIL=http://127.0.0.1:8080 PATH=$PWD/bin:$PWD:$PATH\n",
	},
	{
		Value: "container", Title: "In a container",
		Code: "export KEY=$(" + InContainer + "rail key create --scope read --scope write --json |" +
			"\n" + `  sed -nE 's/.*"key": ?"([^"]+)".*/\1/p') RAIL=http://127.0.0.1:8080` + "\n",
	},
}

// commands are the forms of a block of rail's commands.
func commands(block string) []layout.Tab {
	inside := regexp.MustCompile(`(?m)^rail `).ReplaceAllString(block, InContainer+"rail ")
	return []layout.Tab{
		{Value: "host", Title: "rail", Code: block},
		{Value: "container", Title: "In a container", Code: inside},
	}
}

// translated are the forms of a block of calls.
func translated(write func(language) string) []layout.Tab {
	var out []layout.Tab
	for _, l := range languages {
		out = append(out, layout.Tab{Value: l.name, Title: l.title, Code: write(l)})
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
			code = environment[form].Code + curl.setup()
		case "api":
			code = curl.code(m[2])
		case "rail":
			code = commands(m[2])[form].Code
		}
		return "```sh\n" + code + "```"
	})
}

// blocks renders the fenced blocks of a page.
type blocks struct{}

// RegisterFuncs has the blocks rendered by fenced.
func (blocks) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindFencedCodeBlock, fenced)
}

// sources are the languages of files. Files that follow each other are tabs of one block.
var sources = map[string]layout.Tab{
	"js":     {Value: "node", Title: "Node"},
	"ts":     {Value: "node", Title: "TypeScript"},
	"python": {Value: "python", Title: "Python"},
	"go":     {Value: "go", Title: "Go"},
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
			layout.Tabs("key", "Server", environment) +
			layout.Tabs("setup", "Language", translated(language.setup)) + "</details>\n"
	case kind == "api":
		out = layout.Tabs(fmt.Sprint("api", id), "Language", translated(func(l language) string { return l.code(code) }))
	case kind == "rail":
		out = layout.Tabs(fmt.Sprint("rail", id), "Server", commands(code))
	case kind == "json":
		out = layout.Answer("Answer, shortened", code)
	case sources[kind].Value != "":
		out = program(n, source, id)
	default:
		out = layout.Code(code)
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
		return sources[kind].Value != ""
	}
	if is(n.PreviousSibling()) {
		return ""
	}
	var all []layout.Tab
	for ; is(n); n = n.NextSibling() {
		kind, code := content(n, source)
		all = append(all, layout.Tab{Value: sources[kind].Value, Title: sources[kind].Title, Code: code})
	}
	if len(all) == 1 {
		return layout.Code(all[0].Code)
	}
	return layout.Tabs(fmt.Sprint("file", id), "Language", all)
}

// content returns the language and the text of a fenced block.
func content(n ast.Node, source []byte) (kind, code string) {
	f, _ := n.(*ast.FencedCodeBlock)
	return string(f.Language(source)), string(f.Lines().Value(source))
}
