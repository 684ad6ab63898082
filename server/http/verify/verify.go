// Package verify serves what the readers of statements need to check them: the published keys, and a page that checks
// statements in the browser, and the roots of past months. All of it is public.
package verify

import (
	"embed"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/http/site"
	"rail/server/locale"
)

// Path is the address of the page, and KeysPath of the published keys.
const (
	Path     = "/verify"
	KeysPath = "/.well-known/rail-keys.json"
)

// guide describes how to check statements with a script.
const guide = "/docs/guides/statements"

// timeout bounds the work of one request.
const timeout = 8 * time.Second

//go:embed templates
var files embed.FS

var (
	pages   = site.Source{Files: files, Folder: "templates"}.Parse()
	queries = db.New()
)

// Options holds the dependencies of the pages.
type Options struct {
	Pool    *pgxpool.Pool
	Clock   clock.Clock
	BaseURL string // where the service is reached
	Service string // the product's name
}

// Pages serves the page and the files.
type Pages struct {
	Options
	site    *site.Site[*visit]
	keyFile cache // by the number of keys
	months  cache // by the month before which they are published, since a root is computed from every statement
}

// visit is one request for a page.
type visit struct {
	site.Visit
	pages *Pages
}

// New returns the pages.
func New(o Options) (*Pages, error) {
	s, err := site.New(site.Options{
		Path:    Path,
		BaseURL: o.BaseURL,
		Clock:   o.Clock,
		Pool:    o.Pool,
		Timeout: timeout,
		Sources: []string{"connect-src 'self'"},
		Locale:  func(string) *locale.Locale { return locale.English },
	}, map[string]site.Route[*visit]{"GET " + Path: {Do: show, Open: true}})
	return &Pages{Options: o, site: s}, err
}

// Register adds the page and the files to e.
func (p *Pages) Register(e *echo.Echo) {
	both := []string{http.MethodGet, http.MethodHead}
	e.Any(Path, func(c echo.Context) error { return p.site.Serve(&visit{Visit: p.site.Visit(c), pages: p}) })
	e.Match(both, KeysPath, p.keys)
	e.Match(both, LedgerPath, p.ledger)
	e.Match(both, MonthPath, p.month)
}

// show answers with the page.
func show(v *visit) error {
	return v.write(http.StatusOK, "verify", "Verify a statement", map[string]string{"Keys": KeysPath, "Guide": guide})
}

// write answers with a page.
func (v *visit) write(status int, name, title string, data any) error {
	return pages.Write(v, v.Locale, status, name, struct {
		site.Layout
		Data any
	}{site.Layout{
		Title:  title,
		Name:   v.pages.Service,
		Home:   "/",
		Script: site.VerifyPath,
		Narrow: true,
	}, data})
}

// Fail answers an error with a page. It returns internal errors, for the log.
func (v *visit) Fail(err error) error {
	status, title, text := site.Explain(err)
	site.RetryAfter(v.Response().Header(), err)
	return site.Failed(v, err, status, func() error { return v.write(status, "note", title, text) })
}
