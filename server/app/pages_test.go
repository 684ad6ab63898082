package app

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/pgtest"
)

// TestPagesAreConfined: each page restricts its resources, and sends no referrer to other sites.
func TestPagesAreConfined(t *testing.T) {
	a := newApp(t, pgtest.New(t), func(c *config.Config) { c.AddressRateLimit = 10_000 })
	pages := 0
	for _, r := range a.echo.Routes() {
		if r.Method != http.MethodGet || strings.HasPrefix(r.Path, "/v1/") {
			continue
		}
		w := get(a, strings.NewReplacer(":slug", "AAAAAAA", ":token", "x", "/*", "/x").Replace(r.Path))
		if strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			pages++
			require.NotEmpty(t, w.Header().Get("Content-Security-Policy"), r.Path)
			require.Contains(t, []string{"no-referrer", "same-origin"}, w.Header().Get("Referrer-Policy"), r.Path)
		}
	}
	require.Greater(t, pages, 10)
}
