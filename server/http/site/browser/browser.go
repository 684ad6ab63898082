// Package browser reads what a page's own requests have beside their bodies: the
// publishable key, the origin and the visitor's cookie. The request path puts a
// Caller into the context, and the operations under /t find it there.
package browser

import (
	"context"
	"net/http"
	"regexp"
	"strings"

	"rail/server/auth"
	"rail/server/http/robots"
	"rail/server/ident"
	"rail/server/program/publishable"
)

// cookie is the visitor's: a token, and after a point the click that was handed
// over to this browser, if any.
const cookie = "rail_v"

// token matches the token of the cookie; any other is replaced.
var token = regexp.MustCompile(`^[A-Za-z0-9_-]{22}$`)

// Caller is a page's request.
type Caller struct {
	Key                publishable.Key
	Address, UserAgent string
	// Visitor is the cookie's token, "" for none; Handed the click in it.
	Visitor, Handed string
	// Sighted is whether a visitor sees the page.
	Sighted bool

	origin  publishable.Origin
	request *http.Request
	answer  http.Header
	plain   bool
}

// Read returns the caller of a request whose key and origin are checked. answer has the response's headers. plain is
// true if this server is reached without TLS.
func Read(
	r *http.Request, answer http.Header, k publishable.Key, o publishable.Origin, address string, plain bool,
) *Caller {
	c := &Caller{
		Key: k, Address: address, UserAgent: r.UserAgent(), Sighted: robots.Sighting(r),
		origin: o, request: r, answer: answer, plain: plain,
	}
	if sent, err := r.Cookie(cookie); err == nil {
		visitor, handed, _ := strings.Cut(sent.Value, ".")
		if token.MatchString(visitor) {
			c.Visitor = visitor
		}
		if c.Visitor != "" && ident.Has(handed, ident.Click) {
			c.Handed = handed
		}
	}
	return c
}

// Page returns the address of the caller's page as far as its origin says it.
func (c *Caller) Page() string { return c.origin.Text + "/" }

// Recognize sets Visitor, if the browser has no cookie, to the token that the page stored, or to a new one.
func (c *Caller) Recognize(stored *string) {
	switch {
	case c.Visitor != "":
	case stored != nil:
		c.Visitor = *stored
	default:
		c.Visitor = auth.NewSlug(22)
	}
}

// Keep sets the cookie, which makes the browser known for as long as its program
// remembers visitors.
//
// Scripts cannot read it, and it comes from the server: browsers that purge what
// scripts write leave it alone. It is Secure unless the page and this server are both
// reached without TLS, as on a developer's machine.
func (c *Caller) Keep() {
	value := c.Visitor
	if c.Handed != "" {
		value += "." + c.Handed
	}
	k := http.Cookie{
		Name: cookie, Value: value, Path: "/", Domain: c.domain(), MaxAge: int(c.Key.CookieDays) * 24 * 3600,
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: !c.plain || c.origin.Scheme != "http",
	}
	c.answer.Add("Set-Cookie", k.String())
}

// domain returns the registrable domain of the page if this path is served below
// it, so that all its hosts know the visitor; else "", for the path's host alone.
// A proxy may have changed the host, so the browser is believed first.
func (c *Caller) domain() string {
	page, h := publishable.Registrable(c.origin.Host), c.request.Header
	if page == "" {
		return ""
	}
	if site := h.Get("Sec-Fetch-Site"); site == "same-origin" || site == "same-site" {
		return page
	}
	for _, host := range []string{h.Get("X-Forwarded-Host"), c.request.Host} {
		name, _, _ := strings.Cut(host, ":")
		if publishable.Registrable(strings.ToLower(name)) == page {
			return page
		}
	}
	return ""
}

// key is the type of the context's key, which no other package can have.
type key struct{}

// Into returns a context that carries the caller.
func Into(ctx context.Context, c *Caller) context.Context { return context.WithValue(ctx, key{}, c) }

// From returns the caller that ctx carries; it panics where the request path put
// none, which is a mistake of wiring.
func From(ctx context.Context) *Caller {
	c, ok := ctx.Value(key{}).(*Caller)
	if !ok {
		panic("browser: the context carries no caller")
	}
	return c
}
