package api

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"rail/gen/api"
	"rail/openapi"
	"rail/server/auth"
	"rail/server/front"
)

// TestUnimplementedIsExact compares the list with the methods that *Server
// declares itself; those promoted from the embedded interface would panic.
func TestUnimplementedIsExact(t *testing.T) {
	declared := serverMethods(t)
	listed := map[string]bool{}
	for _, id := range unimplemented(t) {
		name := strings.ToUpper(id[:1]) + id[1:]
		if listed[name] {
			t.Errorf("%s is listed twice", id)
		}
		listed[name] = true
	}
	operations := reflect.TypeFor[api.StrictServerInterface]()
	for i := range operations.NumMethod() {
		name := operations.Method(i).Name
		switch {
		case declared[name] && listed[name]:
			t.Errorf("%s has a handler and is listed as unimplemented", name)
		case !declared[name] && !listed[name]:
			t.Errorf("%s has no handler and is not listed", name)
		}
		delete(listed, name)
	}
	for name := range listed {
		t.Errorf("%s is no operation", name)
	}
}

// unimplemented lists the operations that the description marks.
func unimplemented(t *testing.T) []string {
	t.Helper()
	d, err := front.LoadDocument(openapi.Bundle, auth.Scopes, false)
	if err != nil {
		t.Fatal(err)
	}
	return d.Unimplemented()
}

// serverMethods returns the names of the methods that this package declares on
// *Server.
func serverMethods(t *testing.T) map[string]bool {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	methods, files := map[string]bool{}, token.NewFileSet()
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, e.Name(), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && onServer(f) {
				methods[f.Name.Name] = true
			}
		}
	}
	return methods
}

func onServer(f *ast.FuncDecl) bool {
	if f.Recv == nil || len(f.Recv.List) != 1 {
		return false
	}
	star, ok := f.Recv.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	name, ok := star.X.(*ast.Ident)
	return ok && name.Name == "Server"
}

func TestMatchesETag(t *testing.T) {
	const tag = `"abc"`
	for _, header := range []string{`"abc"`, `W/"abc"`, `"x", "abc"`, `*`} {
		if !matches(header, tag) {
			t.Errorf("%s does not match", header)
		}
	}
	if slices.ContainsFunc([]string{``, `"ab"`, `abc`}, func(h string) bool { return matches(h, tag) }) {
		t.Error("a foreign tag matches")
	}
}
