// Package pages serves what stands beside the API: the docs page with its
// assets, which ask no other server for anything, and the probes.
package pages

import (
	"embed"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"
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

// asset is one file of the docs page.
type asset struct {
	path, file, kind, cache string
	zipped                  bool
}

var files = []asset{
	{path: "/docs", file: "docs.html", kind: "text/html; charset=utf-8", cache: shortly},
	{path: "/docs/start.js", file: "start.js", kind: "text/javascript; charset=utf-8", cache: shortly},
	{path: "/docs/scalar-1.72.1.js", file: "scalar-1.72.1.js.gz", kind: "text/javascript; charset=utf-8", cache: forever, zipped: true},
	{path: "/docs/scalar-LICENSE.txt", file: "scalar-LICENSE.txt", kind: "text/plain; charset=utf-8", cache: shortly},
	{path: "/favicon.ico", file: "favicon.svg", kind: "image/svg+xml", cache: shortly},
}

// Register adds the pages and the probes to e. ready tells why the server
// cannot answer requests now, or nil.
func Register(e *echo.Echo, ready Ready) {
	both := []string{http.MethodGet, http.MethodHead}
	for _, a := range files {
		e.Match(both, a.path, a.serve)
	}
	e.Match(both, "/", func(c echo.Context) error { return c.Redirect(http.StatusFound, "/docs") })
	e.Match(both, "/healthz", healthz)
	e.Match(both, "/readyz", ready.readyz)
}

func (a asset) serve(c echo.Context) error {
	body, err := assets.ReadFile("assets/" + a.file)
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Cache-Control", a.cache)
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
	if a.zipped {
		h.Set("Content-Encoding", "gzip")
	}
	return c.Blob(http.StatusOK, a.kind, body)
}
