package site

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"rail/server/http/docs/static"
	"rail/server/problem"
)

// policy lets a page load from this server alone, and nothing run or be styled inline.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Confine sets the headers that every page has. more are further directives of the
// policy, such as "connect-src 'self'" where a page's script asks for something.
func Confine(h http.Header, more ...string) {
	h.Set("Content-Security-Policy", strings.Join(append([]string{policy}, more...), "; "))
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "same-origin") // without it, forms have no Origin
}

// Framed lets pages of hosts frame a page that Confine has confined: with any port unless one is
// named, and by http from this machine alone.
func Framed(h http.Header, hosts []string) {
	allowed := []string{"frame-ancestors"}
	for _, host := range hosts {
		name, port, _ := strings.Cut(host, ":")
		source := name + ":" + cmp.Or(port, "*")
		allowed = append(allowed, "https://"+source)
		if name == "localhost" || name == "127.0.0.1" {
			allowed = append(allowed, "http://"+source)
		}
	}
	if len(hosts) > 0 {
		was := h.Get("Content-Security-Policy")
		h.Set("Content-Security-Policy", strings.Replace(was, "frame-ancestors 'none'", strings.Join(allowed, " "), 1))
	}
}

// origin refuses changes that a browser says come from another origin than base, the
// address of the service.
func origin(base string) (*http.CrossOriginProtection, error) {
	own := http.NewCrossOriginProtection()
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return own, err
	}
	// A proxy may hand another Host on.
	return own, own.AddTrustedOrigin(u.Scheme + "://" + u.Host)
}

// Spelled reports whether a part of an address is text that the database can look for.
func Spelled(part string) bool { return utf8.ValidString(part) && !strings.ContainsRune(part, 0) }

// folder is where the assets are, for every site.
const folder = "/assets/"

// The assets of every page. Their names have a hash of the contents.
var (
	StylePath  = folder + nameOf("design.css")
	ScriptPath = folder + nameOf("design.js")
)

// nameOf is the name that an asset is served by.
func nameOf(name string) string {
	body, err := files.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	sum := sha256.Sum256(body)
	stem, kind, _ := strings.Cut(name, ".")
	return stem + "-" + hex.EncodeToString(sum[:6]) + "." + kind
}

// Kinds of assets, and how long they are kept: those of this binary for good, as
// another content has another name. While servers of two releases run, a page of one
// may ask the other: it gets what there is, and asks again the next time.
const (
	style  = "text/css; charset=utf-8"
	script = "text/javascript; charset=utf-8"

	forever = "public, max-age=31536000, immutable"
	once    = "public, no-cache"
)

// assets are the files that pages load, by path; others are the same under the
// names of another release.
var (
	assets = map[string]*static.Text{
		StylePath: asset("design.css", style, forever), ScriptPath: asset("design.js", script, forever),
	}
	others = map[string]*static.Text{
		"css": asset("design.css", style, once), "js": asset("design.js", script, once),
	}
)

func asset(name, kind, cache string) *static.Text {
	return static.New(kind, cache, func() ([]byte, error) { return files.ReadFile("assets/" + name) })
}

// Register adds the assets to e.
func Register(e *echo.Echo) {
	e.Match([]string{http.MethodGet, http.MethodHead}, folder+":name", serve)
}

// serve answers with an asset.
func serve(c echo.Context) error {
	name := c.Param("name")
	file, ok := assets[folder+name]
	if !ok {
		_, kind, _ := strings.Cut(name, ".")
		if file, ok = others[kind]; !ok || !strings.HasPrefix(name, "design-") {
			return problem.New(problem.RouteNotFound, "There is no such file.")
		}
	}
	asked := c.Request().Header
	return file.Serve(c.Response(), asked.Get("Accept-Encoding"), asked.Get("If-None-Match"))
}
