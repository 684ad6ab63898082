// Package script serves rail.js, which runs in merchants' pages and finds out which
// partner sent a visitor. The package also builds the tag that loads rail.js.
package script

import (
	"embed"
	"html"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/labstack/echo/v4"

	"rail/gen/script"
	"rail/server/http/docs/static"
)

// Path is the path of the current release's script.
const Path = "/rail.js"

// kind is the media type. Browsers require it, because the server sends nosniff.
const kind = "text/javascript; charset=utf-8"

// released contains the scripts of earlier releases. Tags in merchants' pages still name them.
//
//go:embed released
var released embed.FS

// Named returns the path of this release's script by its hash. Its content never changes.
func Named() string { return "/rail-" + script.Hash + ".js" }

// Tag returns the tag for a merchant's pages. The tag loads the script asynchronously, and the
// browser verifies its content. params are the query parameters that carry a tracking value.
// Without params the script reads ref.
func Tag(baseURL, key string, params ...string) string {
	tag := `<script async src="` + html.EscapeString(strings.TrimSuffix(baseURL, "/")+Named()) +
		`" integrity="` + script.Integrity + `" crossorigin="anonymous" data-rail="` + html.EscapeString(key) + `"`
	if list := strings.Join(params, ","); list != "" && list != "ref" {
		tag += ` data-params="` + html.EscapeString(list) + `"`
	}
	return tag + `></script>`
}

// texts returns the scripts by their paths.
func texts() map[string]*static.Text {
	const forever = "public, max-age=31536000, immutable"
	out := map[string]*static.Text{
		Path:    static.New(kind, "public, max-age=3600", func() ([]byte, error) { return script.Source, nil }),
		Named(): static.New(kind, forever, func() ([]byte, error) { return script.Source, nil }),
	}
	old, _ := fs.Glob(released, "released/rail-*.js") // Glob fails only for an invalid pattern
	for _, name := range old {
		out["/"+path.Base(name)] = static.New(kind, forever, func() ([]byte, error) { return released.ReadFile(name) })
	}
	return out
}

// Register adds the scripts to e. It passes them to beyond, which serves them without a rate
// limit: visitors behind a merchant's proxy share one address, and the script is in memory.
func Register(e *echo.Echo, beyond func(path string, h echo.HandlerFunc)) {
	for path, text := range texts() {
		h := func(c echo.Context) error { return serve(c, text) }
		e.Match([]string{http.MethodGet, http.MethodHead}, path, h)
		beyond(path, h)
	}
}

// serve answers with a script. Any page may load and read it: integrity requires read access.
func serve(c echo.Context, text *static.Text) error {
	h, header := c.Response().Header(), c.Request().Header
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	return text.Serve(c.Response(), header.Get("Accept-Encoding"), header.Get("If-None-Match"))
}
