// Package script serves rail.js, which the pages of merchants load: it finds out which
// partner sent a visitor. The package also writes the tag that loads it.
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

// Path is where the script of this release is, whichever that is.
const Path = "/rail.js"

// kind is the media type, which browsers insist on: nothing may be sniffed.
const kind = "text/javascript; charset=utf-8"

// released are the scripts of earlier releases: tags name one by its hash, and stay.
//
//go:embed released
var released embed.FS

// Named returns the path of the script that never changes.
func Named() string { return "/rail-" + script.Hash + ".js" }

// Tag returns the tag for the pages of a merchant: a script that is loaded beside the page, and
// refused by the browser if it is another. params are the query parameters that carry a
// tracking value; without them the script looks for ref.
func Tag(baseURL, key string, params ...string) string {
	tag := `<script async src="` + html.EscapeString(strings.TrimSuffix(baseURL, "/")+Named()) +
		`" integrity="` + script.Integrity + `" crossorigin="anonymous" data-rail="` + html.EscapeString(key) + `"`
	if list := strings.Join(params, ","); list != "" && list != "ref" {
		tag += ` data-params="` + html.EscapeString(list) + `"`
	}
	return tag + `></script>`
}

// Integrities returns what tags name as the content of each script that is served, by its path.
func Integrities() map[string]string {
	return map[string]string{Path: script.Integrity, Named(): script.Integrity}
}

// texts returns the scripts by their paths.
func texts() map[string]*static.Text {
	const forever = "public, max-age=31536000, immutable"
	out := map[string]*static.Text{
		Path:    static.New(kind, "public, max-age=3600", func() ([]byte, error) { return script.Source, nil }),
		Named(): static.New(kind, forever, func() ([]byte, error) { return script.Source, nil }),
	}
	old, _ := fs.Glob(released, "released/rail-*.js") // the pattern is right
	for _, name := range old {
		out["/"+path.Base(name)] = static.New(kind, forever, func() ([]byte, error) { return released.ReadFile(name) })
	}
	return out
}

// Register adds the scripts to e. beyond has them served to addresses that ask too often, too:
// behind a proxy of the merchant's, all visitors have one, and the script is in memory.
func Register(e *echo.Echo, beyond func(path string, h echo.HandlerFunc)) {
	for path, text := range texts() {
		h := func(c echo.Context) error { return serve(c, text) }
		e.Match([]string{http.MethodGet, http.MethodHead}, path, h)
		beyond(path, h)
	}
}

// serve answers with a script. Any page may load it and, which integrity needs, read it.
func serve(c echo.Context, text *static.Text) error {
	h, asked := c.Response().Header(), c.Request().Header
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	return text.Serve(c.Response(), asked.Get("Accept-Encoding"), asked.Get("If-None-Match"))
}
