package app

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/pgtest"
	"rail/server/http/site"
)

// TestEverythingLargeIsCompressed: from 1 kB on, every kind of answer comes in an encoding that the client
// accepts, and below it uncompressed; both have Vary.
func TestEverythingLargeIsCompressed(t *testing.T) {
	t.Parallel()
	a := newApp(t, pgtest.New(t), func(c *config.Config) { c.AddressRateLimit = 10_000 })
	a.echo.GET("/list", func(c echo.Context) error { return c.JSON(http.StatusOK, strings.Repeat("one of many ", 100)) })
	a.echo.GET("/page",
		func(c echo.Context) error { return c.HTML(http.StatusOK, strings.Repeat("<p>one of many</p>", 100)) })
	a.echo.GET("/one", func(c echo.Context) error { return c.JSON(http.StatusOK, strings.Repeat("x", 900)) })
	ask := func(method, path, accept string) *httptest.ResponseRecorder {
		w, r := httptest.NewRecorder(), httptest.NewRequest(method, path, nil)
		r.Header.Set("Accept-Encoding", accept)
		a.Handler().ServeHTTP(w, r)
		require.Equal(t, []string{"Accept-Encoding"}, w.Header().Values("Vary"), path)
		return w
	}
	large := []string{
		"/v1/openapi.json", "/llms.txt", "/llms-full.txt", "/docs/scalar-1.72.1.js", site.StylePath, "/page",
		"/list",
	}
	for _, path := range large {
		plain := ask("GET", path, "")
		require.Empty(t, plain.Header().Get("Content-Encoding"), path)
		require.Empty(t, ask("GET", path, "gzip;q=0, br").Header().Get("Content-Encoding"), path)
		for _, encoding := range []string{"gzip", "zstd"} {
			if encoding == "zstd" && strings.Contains(path, "scalar") {
				continue // stored as gzip
			}
			w := ask("GET", path, encoding+";q=0.5, br")
			require.Equal(t, encoding, w.Header().Get("Content-Encoding"), path)
			require.Equal(t, plain.Code, w.Code)
			require.Less(t, 2*w.Body.Len(), plain.Body.Len(), path)
			require.Equal(t, plain.Header().Get("Content-Type"), w.Header().Get("Content-Type"), path)
			require.Equal(t, plain.Body.String(), unpacked(t, encoding, w.Body), path)
		}
	}
	for _, path := range []string{"/one", "/v1/nothing", "/healthz", "/docs", "/favicon.ico"} {
		require.Empty(t, ask("GET", path, "gzip, zstd").Header().Get("Content-Encoding"), path)
	}
	for _, path := range []string{"/docs/scalar-1.72.1.js", site.StylePath} {
		require.Equal(t, 200, ask("GET", path, "gzip").Code)
		require.Equal(t, ask("GET", path, "gzip").Header().Get("Content-Length"),
			ask("HEAD", path, "gzip").Header().Get("Content-Length"), path)
	}
}

func unpacked(t *testing.T, encoding string, in io.Reader) string {
	t.Helper()
	var plain io.Reader
	if encoding == "gzip" {
		z, err := gzip.NewReader(in)
		require.NoError(t, err)
		plain = z
	} else {
		z, err := zstd.NewReader(in)
		require.NoError(t, err)
		defer z.Close()
		plain = z
	}
	out, err := io.ReadAll(plain)
	require.NoError(t, err)
	return string(out)
}
