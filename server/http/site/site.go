package site

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"

	"rail/server/clock"
	"rail/server/locale"
)

// Options holds the properties of a site and the dependencies of its visits.
type Options struct {
	Path    string // of all its pages: "/portal"
	BaseURL string // the service's address
	Clock   clock.Clock
	Pool    *pgxpool.Pool
	Wake    func()        // called when events have been committed; may be nil
	Guard   Guard         // of the forms
	Flash   Cookie        // of notices for the next page
	Timeout time.Duration // of a request, unless its route has one
	Sources []string      // further directives of the content security policy
	// Locale returns the locale for an Accept-Language header.
	Locale func(accepted string) *locale.Locale
}

// Route is a method and path of a site, such as "POST /portal/links/add", by the patterns of net/http.ServeMux.
type Route[V Visitor] struct {
	Do   func(V) error
	Open bool // needs no session
	// File names the form's file field, of at most 1 MiB; "" for none.
	File string
	// Stream is how many bytes the files in the field File have together at most, if the action reads them as they
	// arrive (Visit.Parts).
	Stream int64
	// Linked is true for forms without a token, behind a link that is itself the secret.
	Linked  bool
	Timeout time.Duration // 0 for the site's
}

// Site is a set of pages that share sessions, forms and error pages.
type Site[V Visitor] struct {
	Options
	mux    *http.ServeMux
	origin *http.CrossOriginProtection
}

// New returns a site with its routes.
func New[V Visitor](o Options, routes map[string]Route[V]) (*Site[V], error) {
	s := &Site[V]{Options: o, mux: http.NewServeMux()}
	for pattern, r := range routes {
		s.mux.Handle(pattern, handler[V]{r, s})
	}
	var err error
	s.origin, err = origin(o.BaseURL)
	return s, err
}

// Visit begins a visit.
func (s *Site[V]) Visit(c echo.Context) Visit {
	return Visit{
		Context: c,
		Now:     s.Clock.Now(),
		Locale:  s.Locale(c.Request().Header.Get("Accept-Language")),
		site:    &s.Options,
	}
}

// visitKey is the context's key of the visit.
type visitKey struct{}

// Of returns the visit whose request has a context; false outside of the site V.
func Of[V Visitor](ctx context.Context) (V, bool) {
	v, ok := ctx.Value(visitKey{}).(V)
	return v, ok
}

// Serve answers a visit. Every error is a page. It returns internal errors, for the log.
func (s *Site[V]) Serve(v V) error {
	c := v.common()
	SetHeaders(c.Response().Header(), s.Sources...)
	c.SetRequest(c.Request().WithContext(context.WithValue(c.Ctx(), visitKey{}, v)))
	h, pattern := s.mux.Handler(c.Request())
	if h, ok := h.(handler[V]); ok {
		c.SetPath(label(pattern))
		defer detach(c, cmp.Or(h.route.Timeout, s.Timeout))()
		s.mux.ServeHTTP(c.Response(), c.Request())
		return c.Err
	}
	c.SetPath(s.Path + "/*")
	w := refusal{http.Header{}}
	h.ServeHTTP(w, c.Request())
	if allowed := w.header.Get("Allow"); allowed != "" {
		return v.Fail(refuseMethod(c, allowed))
	}
	return v.Fail(NotFound())
}

// detach gives a request a context that ends after timeout, but not with its connection: a change completes even if
// the browser disconnects. The caller calls cancel at the end of the request.
func detach(c echo.Context, timeout time.Duration) (cancel context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request().Context()), timeout)
	c.SetRequest(c.Request().WithContext(ctx))
	return cancel
}

// label returns a pattern's path, which the log gets in place of the request's path: that can contain a token.
func label(pattern string) string {
	return strings.NewReplacer("{", ":", "...}", "", "}", "").Replace(pattern[strings.IndexByte(pattern, '/'):])
}

// handler answers the requests of a route.
type handler[V Visitor] struct {
	route Route[V]
	site  *Site[V]
}

// ServeHTTP runs the route's action for the visit of the request.
func (h handler[V]) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	v, _ := Of[V](r.Context())
	if err := h.answer(v); err != nil {
		v.common().Err = v.Fail(err)
	}
}

// answer checks the origin of a form, loads the session, reads the form and loads the objects of the path, in this
// order: a forged request costs neither a query nor memory.
func (h handler[V]) answer(v V) error {
	c := v.common()
	posted := c.Request().Method == http.MethodPost
	if posted && h.site.origin.Check(c.Request()) != nil {
		return ErrForged
	}
	if !h.route.Open {
		if err := v.Identify(); err != nil {
			return err
		}
	}
	if posted && !h.route.Linked {
		if err := c.readForm(h.route.File, h.route.Stream); err != nil {
			return err
		}
	}
	if err := v.Enter(); err != nil {
		return err
	}
	return h.route.Do(v)
}

// refusal records the headers with which a ServeMux refuses a request.
type refusal struct{ header http.Header }

func (r refusal) Header() http.Header       { return r.header }
func (refusal) WriteHeader(int)             {}
func (refusal) Write(b []byte) (int, error) { return len(b), nil }
