package portal

import (
	_ "embed"
	"net/http"
	"path"
	"regexp"
	"strings"

	"github.com/labstack/echo/v4"

	"rail/server/http/docs/static"
	"rail/server/http/site"
	"rail/server/program/partner"
)

// embedded is where portals within pages of others are: the address has a token in place of
// a cookie, which browsers do not send from there.
const embedded = "/embed/"

// unframed matches the paths that have no page in a frame: there is no cookie to begin or to end a session.
var unframed = regexp.MustCompile(`^/portal/(sign-|sso|again|switch)`)

// serveFrame answers a page in a frame of another site, whose address has a token in place of a cookie. The page itself
// is the portal's. The log does not get the token.
func (p *Portal) serveFrame(c echo.Context) error {
	token, rest, _ := strings.Cut(strings.TrimPrefix(c.Request().URL.Path, embedded), "/")
	page := path.Join("/portal", rest)
	v := &visit{Visit: p.site.Visit(c), portal: p}
	if !partner.IsToken(token) || unframed.MatchString(page) {
		c.SetPath(embedded + ":token")
		site.SetHeaders(c.Response().Header())
		return v.Fail(errEmbed)
	}
	v.frame = token
	own := c.Request().Clone(c.Request().Context())
	own.URL.Path, own.URL.RawPath = page, ""
	c.SetRequest(own)
	err := p.site.Serve(v)
	c.SetPath(embedded + ":token" + strings.TrimPrefix(c.Path(), "/portal"))
	return err
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
