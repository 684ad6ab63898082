// Package pages serves the docs page with its assets, and the health probes. The docs
// page sends no requests to other servers.
package pages

import (
	"embed"
	"net/http"

	"github.com/labstack/echo/v4"

	"rail/server/http/docs/static"
)

//go:embed assets
var assets embed.FS

// policy lets the docs page send requests only to this server. Scalar needs inline
// styles. Inline scripts are not allowed.
const policy = "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"font-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// Files with a version in their name never change. The others may change with a release.
const (
	forever = "public, max-age=31536000, immutable"
	shortly = "public, max-age=300"
)

// files are the files of the docs page, by path.
var files = map[string]*static.Text{
	"/docs":                    static.New("text/html; charset=utf-8", shortly, file("docs.html")),
	"/docs/openapi.json":       static.New("application/json", shortly, withSamples),
	"/docs/start.js":           static.New("text/javascript; charset=utf-8", shortly, file("start.js")),
	"/docs/scalar-1.72.1.js":   static.Zipped("text/javascript; charset=utf-8", forever, file("scalar-1.72.1.js.gz")),
	"/docs/scalar-LICENSE.txt": static.New("text/plain; charset=utf-8", shortly, file("scalar-LICENSE.txt")),
	"/favicon.ico":             static.New("image/svg+xml", shortly, Icon),
}

// Icon returns the icon of all pages, an SVG.
func Icon() ([]byte, error) { return assets.ReadFile("assets/favicon.svg") }

// file returns a function that reads an embedded file.
func file(name string) func() ([]byte, error) {
	return func() ([]byte, error) { return assets.ReadFile("assets/" + name) }
}

// Register adds the pages and the probes to e. ready returns nil if the server can answer
// requests now, and otherwise the reason. checks returns the details for /readyz?verbose.
func Register(e *echo.Echo, ready Ready, checks Checks) {
	both := []string{http.MethodGet, http.MethodHead}
	for path, text := range files {
		e.Match(both, path, func(c echo.Context) error { return serve(c, text) })
	}
	e.Match(both, "/", func(c echo.Context) error { return c.Redirect(http.StatusFound, "/docs") })
	e.Match(both, "/healthz", healthz)
	e.Match(both, "/readyz", func(c echo.Context) error { return ready.readyz(c, checks) })
}

// serve answers with a file and the security headers of the page.
func serve(c echo.Context, text *static.Text) error {
	h, header := c.Response().Header(), c.Request().Header
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
	return text.Serve(c.Response(), header.Get("Accept-Encoding"), header.Get("If-None-Match"))
}
