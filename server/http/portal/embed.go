package portal

import (
	"cmp"
	_ "embed"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"rail/server/http/docs/static"
	"rail/server/http/site"
	"rail/server/program/partner"
)

// embedded is where portals within pages of others are: the address has a token in place of
// a cookie, which browsers do not send from there.
const embedded = "/embed/"

// framed returns the token of an address of an embedded portal, and the path of the same page
// in the portal. Of other addresses it returns "" and the path itself.
func framed(path string) (token, page string) {
	rest, ok := strings.CutPrefix(path, embedded)
	if !ok {
		return "", path
	}
	token, page, _ = strings.Cut(rest, "/")
	if page != "" {
		page = "/" + page
	}
	return cmp.Or(token, "none"), "/portal" + page
}

// serveFrame answers within a page of the program's. The log is not given the token.
func (p *Portal) serveFrame(v *visit, method string) error {
	if !partner.IsToken(v.frame) {
		v.frame = "" // it can be any text, and must not be in a page
		v.SetPath(embedded + ":token")
		return errEmbed
	}
	v.SetPath(embedded + ":token" + strings.TrimPrefix(v.page, "/portal"))
	if v.page == "/portal/sign-out" || v.page == "/portal/again" {
		return errEmbed // who has no cookie has nothing to end
	}
	return p.route(v, method)
}

// HTMLBlob sends a page. Within a frame the links of it lead to the pages of the frame.
func (v *visit) HTMLBlob(status int, page []byte) error {
	if v.frame == "" {
		return v.Context.HTMLBlob(status, page)
	}
	site.Framed(v.Response().Header(), v.frames)
	moved := strings.ReplaceAll(string(page), `="/portal`, `="`+embedded+v.frame)
	return v.Context.HTMLBlob(status, []byte(moved))
}

// Redirect sends the browser on, to the frame's own page from within a frame.
func (v *visit) Redirect(status int, to string) error {
	if rest, ok := strings.CutPrefix(to, "/portal"); ok && v.frame != "" {
		to = embedded + v.frame + rest
	}
	return v.Context.Redirect(status, to)
}

//go:embed embed.js
var loader []byte

// loaderPath is where the script is that puts the portal into a page.
const loaderPath = "/embed.js"

// registerLoader adds the script, which any page may load.
func registerLoader(e *echo.Echo) {
	text := static.New("text/javascript; charset=utf-8", "public, max-age=3600", func() ([]byte, error) { return loader, nil })
	e.Match([]string{http.MethodGet, http.MethodHead}, loaderPath, func(c echo.Context) error {
		h, request := c.Response().Header(), c.Request().Header
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Cross-Origin-Resource-Policy", "cross-origin")
		return text.Serve(c.Response(), request.Get("Accept-Encoding"), request.Get("If-None-Match"))
	})
}
