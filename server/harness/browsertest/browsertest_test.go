package browsertest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/browsertest"
)

// TestViolations checks that accessibility faults are found, in their colour scheme, and that a good page passes.
func TestViolations(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		style, more := "", ""
		switch r.URL.Path {
		case "/dark":
			style = "@media (prefers-color-scheme: dark) { body { background: #111; color: #333 } }"
		case "/field":
			more = "<input name=x>"
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, `<!doctype html><html lang="en"><title>x</title><link rel="icon" href="data:,"><style>%s</style>
			<main><h1>Here</h1><p>Words to read.</p>%s</main>`, style, more)
	}))
	t.Cleanup(server.Close)
	b := browsertest.New(t, server.URL)
	rules := func(path string) []string {
		b.Open(path)
		out := []string{}
		for _, v := range b.Violations() {
			require.NotEmpty(t, v.Nodes)
			out = append(out, v.Rule)
		}
		return out
	}
	require.Empty(t, rules("/good"))
	require.Equal(t, []string{"label"}, rules("/field"))
	require.Empty(t, rules("/dark"))
	b.Scheme("dark")
	require.Equal(t, []string{"color-contrast"}, rules("/dark"))
}
