package site

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"rail/server/http/docs/static"
	"rail/server/problem"
)

// policy lets a page load from this server alone, and nothing run or be styled inline.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// SetHeaders sets the headers that every page has. more are further directives of the
// policy, such as "connect-src 'self'" where a page's script asks for something.
func SetHeaders(h http.Header, more ...string) {
	h.Set("Content-Security-Policy", strings.Join(append([]string{policy}, more...), "; "))
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "same-origin") // without it, forms have no Origin
}

// Framed lets pages of hosts frame a page that SetHeaders has confined: with any port unless one is
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

// FramedHere lets pages of this server frame a page that SetHeaders has confined.
func FramedHere(h http.Header) {
	was := h.Get("Content-Security-Policy")
	h.Set("Content-Security-Policy", strings.Replace(was, "frame-ancestors 'none'", "frame-ancestors 'self'", 1))
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

// IsStorable reports whether a part of an address is text that the database can look for.
func IsStorable(part string) bool { return utf8.ValidString(part) && !strings.ContainsRune(part, 0) }

// folder is where the assets are, for every site.
const folder = "/assets/"

// The assets of every page. Their names have a hash of the contents.
var (
	fonts = pathsOf("assets/*.woff2")

	sheet     = styleSheet()
	StylePath = pathOf("design.css", sheet)

	ScriptPath  = pathOf("design.js", read("assets/design.js"))
	ConsolePath = pathOf("console.js", read("assets/console.js"))
	VerifyPath  = pathOf("verify.js", read("assets/verify.js"))
	IconsPath   = pathOf("icons.svg", read("assets/icons.svg"))
)

// styleSheet returns design.css with the style sheets of parts, in order of their names. Its fonts have their paths.
func styleSheet() []byte {
	out := read("assets/design.css")
	parts, _ := fs.Glob(files, "assets/parts/*.css") // the pattern is valid
	for _, name := range parts {
		out = append(out, read(name)...)
	}
	for name, at := range fonts {
		out = bytes.ReplaceAll(out, []byte("url("+name+")"), []byte("url("+at+")"))
	}
	return out
}

// pathsOf returns the paths of embedded files, by their names.
func pathsOf(pattern string) map[string]string {
	names, _ := fs.Glob(files, pattern) // the pattern is valid
	out := make(map[string]string, len(names))
	for _, name := range names {
		out[path.Base(name)] = pathOf(path.Base(name), read(name))
	}
	return out
}

// read returns an embedded file.
func read(name string) []byte {
	body, err := files.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return body
}

// pathOf returns the path of an asset.
func pathOf(name string, body []byte) string {
	sum := sha256.Sum256(body)
	stem, kind, _ := strings.Cut(name, ".")
	return folder + stem + "-" + hex.EncodeToString(sum[:6]) + "." + kind
}

// The media types of assets by the ends of their names, and the values of Cache-Control. While servers of two releases
// run, a page of one may request an asset of the other. It gets this server's, which is not cached.
const (
	style  = "text/css; charset=utf-8"
	script = "text/javascript; charset=utf-8"
	image  = "image/svg+xml"
	font   = "font/woff2"

	forever = "public, max-age=31536000, immutable"
	once    = "public, no-cache"
)

// assets are the files that pages load, by path; others are the same by the name without a hash.
var assets, others = served()

func served() (byPath, byName map[string]*static.Text) {
	byPath, byName = map[string]*static.Text{}, map[string]*static.Text{}
	add := func(at, name, kind string, body func() []byte) {
		read := func() ([]byte, error) { return body(), nil }
		byPath[at], byName[name] = static.New(kind, forever, read), static.New(kind, once, read)
	}
	file := func(name string) func() []byte { return func() []byte { return read("assets/" + name) } }
	add(StylePath, "design.css", style, func() []byte { return sheet })
	add(ScriptPath, "design.js", script, file("design.js"))
	add(ConsolePath, "console.js", script, file("console.js"))
	add(VerifyPath, "verify.js", script, file("verify.js"))
	add(IconsPath, "icons.svg", image, file("icons.svg"))
	for name, at := range fonts {
		add(at, name, font, file(name))
	}
	return byPath, byName
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
		if file, ok = others[withoutHash(name)]; !ok {
			return problem.New(problem.RouteNotFound, "There is no such file.")
		}
	}
	header := c.Request().Header
	return file.Serve(c.Response(), header.Get("Accept-Encoding"), header.Get("If-None-Match"))
}

// hashed is a name of an asset with a hash.
var hashed = regexp.MustCompile(`^(.+)-[0-9a-f]{12}(\.\w+)$`)

// withoutHash returns the name of an asset of another release without its hash; "" if it has none.
func withoutHash(name string) string {
	found := hashed.FindStringSubmatch(name)
	if found == nil {
		return ""
	}
	return found[1] + found[2]
}
