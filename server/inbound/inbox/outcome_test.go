package inbox

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/inbound/processor"
	"rail/server/problem"
)

// constants reads the matching text constants of a file.
func constants(t *testing.T, file string, fits func(name string, typ ast.Expr) bool) (values []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	require.NoError(t, err)
	ast.Inspect(f, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, name := range v.Names {
			if i < len(v.Values) && fits(name.Name, v.Type) {
				if text, ok := v.Values[i].(*ast.BasicLit); ok && text.Kind == token.STRING {
					value, err := strconv.Unquote(text.Value)
					require.NoError(t, err)
					values = append(values, value)
				}
			}
		}
		return true
	})
	require.NotEmpty(t, values, file)
	return values
}

// Every code of an outcome has a sentence, and an outcome that changed nothing has a reason, whatever its code.
func TestEveryCodeIsExplained(t *testing.T) {
	t.Parallel()
	codes := constants(t, "outcome.go", func(name string, _ ast.Expr) bool { return strings.HasPrefix(name, "code") })
	codes = append(codes, constants(t, "../processor/processor.go", func(_ string, typ ast.Expr) bool {
		id, ok := typ.(*ast.Ident)
		return ok && id.Name == "Reason"
	})...)
	require.Len(t, sentences, len(codes), "a sentence of no code")
	for _, code := range codes {
		require.Regexp(t, `^[A-Z].*\.$`, sentences[code], code)
	}
	now := clock.At(time.Unix(1_800_000_000, 0))
	for _, code := range append(codes, string(problem.PartnerNotActive)) {
		for _, o := range []outcome{ignored(code, ""), failed(code, ""), waiting(code, "", "a key")} {
			o.settle(db.InboxEvent{CreatedAt: now}, now)
			require.NotEmpty(t, o.reason, "%s as %s", code, o.status)
			require.LessOrEqual(t, len(o.reason), 1000)
		}
	}
	endless := waiting(codeNoSale, "")
	endless.settle(db.InboxEvent{CreatedAt: now}, now)
	require.NotNil(t, endless.due, "a waiting event without a key is retried too")
	for _, why := range processor.Reasons {
		require.Contains(t, codes, string(why))
	}
}
