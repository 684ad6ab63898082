package guides_test

import (
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"

	"rail/server/http/docs/guides"
)

// TestPages asks for the list, for every guide in both forms, and for what they link to.
func TestPages(t *testing.T) {
	t.Parallel()
	e := echo.New()
	guides.Register(e)
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		require.Equal(t, http.StatusOK, w.Code, path)
		require.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'")
		require.Equal(t, "no-referrer", w.Header().Get("Referrer-Policy"))
		return w
	}
	list := get("/docs/guides").Body.String()
	for _, g := range guides.All() {
		require.NotEmpty(t, g.About)
		require.Contains(t, html.UnescapeString(list), g.About)
		require.Equal(t, string(g.Text), get("/docs/guides/"+g.Name+".md").Body.String())
		page := get("/docs/guides/" + g.Name).Body.String()
		require.Contains(t, page, `aria-current="page">`+g.Title)
		require.Equal(t, 1, strings.Count(page, "<h1"))
		for _, link := range regexp.MustCompile(`href="(/docs/guides[^"#]*)`).FindAllStringSubmatch(page, -1) {
			get(link[1])
		}
	}
}
