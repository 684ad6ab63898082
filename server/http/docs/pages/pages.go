// Package pages serves what stands beside the API: the docs page with its
// assets, which ask no other server for anything, and the probes.
package pages

import (
	"embed"
	"net/http"

	"github.com/labstack/echo/v4"

	"rail/server/http/docs/static"
)

//go:embed assets
var assets embed.FS

// policy lets the docs page load from, and talk to, this server alone. Inline
// styles are Scalar's own; nothing runs inline.
const policy = "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"font-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// Names with a version in them never change; the others may with the binary.
const (
	forever = "public, max-age=31536000, immutable"
	shortly = "public, max-age=300"
)

// files are the files of the docs page, by path.
var files = map[string]*static.Text{
	"/docs":                    static.New("text/html; charset=utf-8", shortly, file("docs.html")),
	"/docs/start.js":           static.New("text/javascript; charset=utf-8", shortly, file("start.js")),
	"/docs/scalar-1.72.1.js":   static.Zipped("text/javascript; charset=utf-8", forever, file("scalar-1.72.1.js.gz")),
	"/docs/scalar-LICENSE.txt": static.New("text/plain; charset=utf-8", shortly, file("scalar-LICENSE.txt")),
	"/favicon.ico":             static.New("image/svg+xml", shortly, file("favicon.svg")),
}

// file returns what reads an embedded file, when it is first asked for.
func file(name string) func() ([]byte, error) {
	return func() ([]byte, error) { return assets.ReadFile("assets/" + name) }
}

// Register adds the pages and the probes to e. ready returns why the server
// cannot answer requests now, or nil; checks say more of it.
func Register(e *echo.Echo, ready Ready, checks Checks) {
	both := []string{http.MethodGet, http.MethodHead}
	for path, text := range files {
		e.Match(both, path, func(c echo.Context) error { return serve(c, text) })
	}
	e.Match(both, "/", func(c echo.Context) error { return c.Redirect(http.StatusFound, "/docs") })
	e.Match(both, "/healthz", healthz)
	e.Match(both, "/readyz", func(c echo.Context) error { return ready.readyz(c, checks) })
}

// serve answers with a file and the headers that confine the page.
func serve(c echo.Context, text *static.Text) error {
	h, asked := c.Response().Header(), c.Request().Header
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
	return text.Serve(c.Response(), asked.Get("Accept-Encoding"), asked.Get("If-None-Match"))
}
