// Package server_test holds the packages of the server to their layers: who
// may import whom. README.md, beside it, describes the layers.
package server_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// module is the path that go.mod gives this module.
const module = "rail/"

// A layer is a set of packages under one rule. They may import one another and
// the packages of the layers below, and of the rest of the module what contract
// lists.
type layer struct {
	rule     string
	packages []string // a name that ends in /... means a folder
	below    []string
	contract []string // packages outside server
	never    []string // packages of other modules and of the standard library
}

const (
	echo    = "github.com/labstack/echo/v4"
	netHTTP = "net/http"
)

var layers = map[string]layer{
	"ground": {
		rule: "the ground (time, ids, secrets, problems, the database) knows nothing of Rail",
		packages: []string{
			"server/clock",
			"server/colour",
			"server/ident/...",
			"server/locale/...",
			"server/opt",
			"server/postgres/...",
			"server/problem",
			"server/secret",
			"server/telemetry/...",
		},
		contract: []string{"schema", "gen/constraint"},
		never:    []string{echo},
	},
	"work": {
		rule: "a unit of work has a tenant, a time, a transaction and events, and knows no rule on them",
		packages: []string{
			"server/auth/...",
			"server/list",
			"server/work",
			"server/work/...",
		},
		below:    []string{"ground"},
		contract: []string{"gen/api", "gen/db", "gen/events"},
		never:    []string{echo, netHTTP},
	},
	"outbound": {
		rule:     "outbound sends what the rules wrote, and decides nothing on partners or money",
		packages: []string{"server/outbound/..."},
		below:    []string{"ground", "work"},
		contract: []string{"gen/api", "gen/db", "gen/events", "openapi"},
		never:    []string{echo},
	},
	"money": {
		rule:     "money is rules on sales, commissions and payouts in a unit of work, and knows no HTTP",
		packages: []string{"server/money/..."},
		below:    []string{"ground", "work", "outbound"},
		contract: []string{"gen/api", "gen/db", "gen/events"},
		never:    []string{echo, netHTTP},
	},
	"rails": {
		rule:     "a rail moves the money of payouts by HTTP, and decides nothing on them",
		packages: []string{"server/money/payout/paypal", "server/money/payout/rails"},
		below:    []string{"ground", "work", "outbound", "money"},
		contract: []string{"gen/api", "gen/db"},
		never:    []string{echo},
	},
	"program": {
		rule:     "program and team are rules on partners, customers and users in a unit of work, and know no HTTP",
		packages: []string{"server/program", "server/program/...", "server/team"},
		below:    []string{"ground", "work", "outbound", "money"},
		contract: []string{"gen/api", "gen/db", "gen/events"},
		never:    []string{echo, netHTTP},
	},
	"inbound": {
		rule:     "inbound turns what payment processors tell into calls of the rules, and decides nothing on money",
		packages: []string{"server/inbound/..."},
		below:    []string{"ground", "work", "outbound", "money", "program"},
		contract: []string{"gen/api", "gen/db", "gen/events"},
		never:    []string{echo},
	},
	"http": {
		rule:     "http turns requests into units of work",
		packages: []string{"server/http/..."},
		below:    []string{"ground", "work", "outbound", "money", "rails", "program", "inbound"},
		contract: []string{".", "gen/api", "gen/db", "gen/events", "gen/samples", "gen/script", "openapi"},
	},
	"jobs": {
		rule:     "jobs turn time into units of work, and know no HTTP",
		packages: []string{"server/jobs"},
		below:    []string{"ground", "work", "outbound", "money", "program", "inbound"},
		contract: []string{"gen/api", "gen/db", "gen/events"},
		never:    []string{echo, netHTTP},
	},
	"app": {
		rule:     "app wires what config says",
		packages: []string{"server/app/..."},
		below:    []string{"ground", "work", "outbound", "money", "rails", "program", "inbound", "http", "jobs"},
		contract: []string{"gen/api", "gen/db", "gen/events", "openapi"},
	},
	"cli": {
		rule:     "cli runs the app and the operator's commands, and is all that cmd/rail has",
		packages: []string{"cmd/rail", "server/cli/..."},
		below:    []string{"ground", "work", "outbound", "money", "rails", "program", "inbound", "http", "jobs", "app"},
		contract: []string{"gen/api", "gen/db"},
		never:    []string{echo},
	},
	"harness": {
		rule:     "harness tests and measures from outside: only tests, cmd/bar, cmd/bench, cmd/clients/story and cmd/ha import it",
		packages: []string{"cmd/bar", "cmd/bench", "cmd/clients/story", "cmd/ha", "server/harness/..."},
		below: []string{
			"ground", "work", "outbound", "money", "rails", "program", "inbound", "http", "jobs", "app", "cli",
		},
		contract: []string{"cmd/clients/model", "gen/api", "gen/db", "gen/events", "openapi", "schema"},
	},
	"contract": {
		rule:     "the description, the statements and the schema come first, and so does what is generated from them",
		packages: []string{".", "gen/...", "openapi", "queries", "schema"},
		below:    []string{"ground"},
	},
	"tools": {
		rule: "a tool or an example of cmd stands alone",
		packages: []string{
			"cmd/bundle", "cmd/clients", "cmd/clients/golang/...", "cmd/clients/model", "cmd/clients/python",
			"cmd/clients/typescript", "cmd/example", "cmd/generate", "cmd/lists", "cmd/rail/ops",
		},
		contract: []string{"gen/api", "gen/client", "queries", "schema", "server/outbound/webhook/verify"},
	},
	"bridge": {
		rule:     "the example of a webhook rail's service imports what a receiver may import",
		packages: []string{"cmd/example/bridge"},
		contract: []string{"gen/api", "server/clock", "server/locale/currency", "server/outbound/webhook/verify"},
	},
}

// TestLayers refuses an import that goes against a layer's rule. What tests
// import is free.
func TestLayers(t *testing.T) {
	t.Parallel()
	for _, f := range sources(t) {
		name, ok := layerOf(f.pkg)
		if !ok {
			t.Errorf("%s is in no layer: give it one in server/layers_test.go", f.pkg)
			continue
		}
		for _, imported := range f.imports() {
			if l := layers[name]; !allows(name, imported) {
				t.Errorf("%s imports %s.\n\tThe rule: %s.\n\tIt may import %s.",
					f.path, imported, l.rule, strings.Join(slices.Concat(l.packages, l.below, l.contract), ", "))
			}
		}
	}
}

// TestHandlersAnswerTheAPIOnly refuses an import of the handlers within http: each
// package there reads its own requests and calls the rules below.
func TestHandlersAnswerTheAPIOnly(t *testing.T) {
	t.Parallel()
	const handlers = "server/http/handlers"
	for _, f := range sources(t) {
		if within(f.pkg, "server/http/...") && f.pkg != handlers && slices.Contains(f.imports(), module+handlers) {
			t.Errorf("%s imports %s.\n\tThe rule: %s.\n\tIt may %s.", f.path, module+handlers,
				"a handler is for requests of the API; a page that calls one has to make such a request up",
				"call server/program, server/money and server/outbound, and page lists by server/list")
		}
	}
}

// TestRulesKnowNoRequests refuses the requests and responses of gen/api outside
// http: the rules take plain values, and write gen/api's models into events.
func TestRulesKnowNoRequests(t *testing.T) {
	t.Parallel()
	forms := requestTypes(t)
	plain := []string{"work", "outbound", "money", "program", "inbound", "jobs"}
	for _, f := range sources(t) {
		if name, _ := layerOf(f.pkg); !slices.Contains(plain, name) {
			continue
		}
		for _, used := range f.selected(module + "gen/api") {
			if forms[used] {
				t.Errorf("%s uses api.%s, the form of a request or a response.\n\tThe rule: %s.",
					f.path, used, "what is not http takes plain values, and of gen/api only what events hold")
			}
		}
	}
}

// layerOf returns the layer that names pkg, or else the layer of a folder
// around it.
func layerOf(pkg string) (string, bool) {
	for name, l := range layers {
		if slices.Contains(l.packages, pkg) {
			return name, true
		}
	}
	for name, l := range layers {
		if slices.ContainsFunc(l.packages, func(p string) bool { return within(pkg, p) }) {
			return name, true
		}
	}
	return "", false
}

// within reports whether pkg is pattern, or below it if it ends in /....
func within(pkg, pattern string) bool {
	folder, all := strings.CutSuffix(pattern, "/...")
	return pkg == folder || all && strings.HasPrefix(pkg, folder+"/")
}

// allows reports whether the packages of a layer may import one.
func allows(importer, imported string) bool {
	l := layers[importer]
	pkg, ours := strings.CutPrefix(imported, module)
	if imported+"/" == module {
		pkg, ours = ".", true // the package in the module's folder
	}
	if !ours {
		return !slices.Contains(l.never, imported)
	}
	if slices.ContainsFunc(l.contract, func(p string) bool { return within(pkg, p) }) {
		return true
	}
	name, ok := layerOf(pkg)
	return ok && (name == importer || slices.Contains(l.below, name))
}

// source is a file of Go that is no test.
type source struct {
	path, pkg string
	file      *ast.File
}

// sources parses the module's files. The generated are read for their imports only.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	for _, top := range []string{"cmd", "gen", "openapi", "pages.go", "queries", "schema", "server"} {
		require.NoError(t, fs.WalkDir(os.DirFS(".."), top, func(name string, _ fs.DirEntry, err error) error {
			if err != nil || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
				return err
			}
			mode := parser.SkipObjectResolution
			if top == "gen" {
				mode = parser.ImportsOnly
			}
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", name), nil, mode)
			all = append(all, source{name, path.Dir(name), file})
			return err
		}))
	}
	return all
}

func (s source) imports() []string {
	var paths []string
	for _, i := range s.file.Imports {
		p, _ := strconv.Unquote(i.Path.Value) // the parser has refused what is none
		paths = append(paths, p)
	}
	return paths
}

// selected lists the names of an imported package that the file uses.
func (s source) selected(imported string) []string {
	var local string
	for n, p := range s.imports() {
		if p != imported {
			continue
		}
		local = path.Base(p)
		if name := s.file.Imports[n].Name; name != nil {
			local = name.Name
		}
	}
	var names []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if of, ok := sel.X.(*ast.Ident); ok && of.Name == local {
				names = append(names, sel.Sel.Name)
			}
		}
		return true
	})
	return names
}

var (
	requestForm = regexp.MustCompile(
		`(?m)^type (\w+(?:RequestObject|ResponseObject|JSONResponse|Params|RequestBody|Reply|Interface))\b`)
	requestBody = regexp.MustCompile(`(?m)^type \w+JSONRequestBody = (\w+)$`)
)

// requestTypes returns the set of gen/api's types for requests, their bodies and responses.
func requestTypes(t *testing.T) map[string]bool {
	t.Helper()
	code, err := os.ReadFile("../gen/api/api.gen.go")
	require.NoError(t, err)
	set := map[string]bool{}
	for _, form := range []*regexp.Regexp{requestForm, requestBody} {
		found := form.FindAllSubmatch(code, -1)
		require.NotEmpty(t, found)
		for _, m := range found {
			set[string(m[1])] = true
		}
	}
	return set
}
