package locale

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// server is where texts are looked for.
const server = ".."

// templateText finds the texts of templates: {{t "A text"}}, and (t "A text") within another call.
var templateText = regexp.MustCompile(`[{(\s]t ("(?:[^"\\]|\\.)*")`)

// sayers are the methods whose first argument is a text: T, and those of package mail.
var sayers = []string{"T", "paragraph", "subject", "button", "because"}

// verb is a part of a text.
var verb = regexp.MustCompile(`%(?:\[(\d)\])?([a-z%])`)

// TestTexts checks that every language has every text used with T, with the same verbs, and
// no unused text.
func TestTexts(t *testing.T) {
	t.Parallel()
	texts, written := gather(t)
	require.NotEmpty(t, texts)
	for _, l := range languages[1:] {
		translations := read(l.Language())
		for text := range texts {
			require.Contains(t, translations, text, "%s lacks a text", l.Language())
		}
		for text, forms := range translations {
			require.Truef(t, written[text], "%s has %q, which nobody says", l.Language(), text)
			require.NotEmpty(t, forms["other"], text)
			for _, form := range forms {
				require.Equal(t, parts(text), parts(form), "%s: %q", l.Language(), text)
			}
		}
	}
}

// parts are the verbs of a text, each with its place among the arguments, in their order.
func parts(text string) (out []string) {
	next := 1
	for _, found := range verb.FindAllStringSubmatch(text, -1) {
		at, _ := strconv.Atoi(found[1])
		switch {
		case found[2] == "%":
			continue
		case at == 0:
			at = next
		}
		next = at + 1
		out = append(out, strconv.Itoa(at)+found[2])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// gather reads the texts that are said by T, and all texts that are written somewhere and may
// come to it as a value: the strings of the code, and the words of the API's values.
func gather(t *testing.T) (used, written map[string]bool) {
	t.Helper()
	used, written = map[string]bool{}, values(t)
	require.NoError(t, filepath.WalkDir(server, func(path string, _ fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case strings.HasSuffix(path, ".html") && strings.Contains(path, "templates"):
			raw, err := os.ReadFile(path)
			for _, found := range templateText.FindAllSubmatch(raw, -1) {
				text, err := strconv.Unquote(string(found[1]))
				require.NoError(t, err, path)
				used[text], written[text] = true, true
			}
			return err
		case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			require.NoError(t, err)
			ast.Inspect(file, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && len(call.Args) > 0 {
					if f, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains(sayers, f.Sel.Name) {
						note(used, call.Args[0])
					}
				}
				if e, ok := n.(ast.Expr); ok {
					note(written, e)
				}
				return true
			})
		}
		return nil
	}))
	return used, written
}

// note adds a text that an expression is.
func note(to map[string]bool, e ast.Expr) {
	if text, ok := constant(e); ok {
		to[text] = true
	}
}

// constant is a string literal, or several that are put together.
func constant(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		left, one := constant(e.X)
		right, two := constant(e.Y)
		return left + right, one && two && e.Op == token.ADD
	}
	return "", false
}

// values are the words of all values that the API's enums have.
func values(t *testing.T) map[string]bool {
	t.Helper()
	raw, err := os.ReadFile("../../openapi/bundle.json")
	require.NoError(t, err)
	var document any
	require.NoError(t, json.Unmarshal(raw, &document))
	out := map[string]bool{}
	var walk func(any)
	walk = func(part any) {
		switch part := part.(type) {
		case []any:
			for _, p := range part {
				walk(p)
			}
		case map[string]any:
			for name, p := range part {
				if list, ok := p.([]any); ok && name == "enum" {
					for _, v := range list {
						if text, ok := v.(string); ok && text != "" {
							words := strings.ReplaceAll(text, "_", " ")
							out[strings.ToUpper(words[:1])+words[1:]] = true
						}
					}
				}
				walk(p)
			}
		}
	}
	walk(document)
	return out
}
