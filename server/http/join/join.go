// Package join serves the pages on which people apply to a program: its offer, its questions and a form. They need no
// JavaScript. The response to an application is the same for every address, so that it reveals no partners.
//
// The applicant confirms the email address with a mailed link (confirm.go), which then shows the status of the
// application. Package joining has the rules; package site has the layout and reads forms.
package join

import (
	"regexp"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/http/middleware"
	"rail/server/http/site"
	"rail/server/locale"
	"rail/server/program/joining"
	"rail/server/secret"
	"rail/server/work/quota"
)

// timeout bounds the work of one request, as it does for the API.
const timeout = 8 * time.Second

var queries = db.New()

// Options holds the dependencies of the join pages.
type Options struct {
	Pool     *pgxpool.Pool
	Keeper   *secret.Keeper
	BaseURL  string // where the service is reached, without a slash at its end
	Service  string // the product's name
	Document *middleware.Document
	Joining  *joining.Service
	Clock    clock.Clock
	Address  func(echo.Context) string // the visitor's address, behind proxies too
	// Plan holds the limits of organizations without specific ones.
	Plan quota.Plan
	// Wake is called when events have been committed; it may be nil.
	Wake func()
}

// Pages serves everything under /join.
type Pages struct {
	Options
	site *site.Site[*visit]
}

// route is a method and path of the join pages. They have no sessions.
type route = site.Route[*visit]

// guard ties a form to its page: there are no sessions here.
var guard = site.Guard{Purpose: "rail/join-form"}

// folder is the path of the join pages.
const folder = "/join/"

// routes are all paths of the join pages.
var routes = map[string]route{
	"GET /join/{program}":          {Do: show, Open: true},
	"POST /join/{program}":         {Do: apply, Open: true},
	"GET /join/{program}/{group}":  {Do: show, Open: true},
	"POST /join/{program}/{group}": {Do: apply, Open: true},
	"GET /join/confirm/{token}":    {Do: ask, Open: true},
	"POST /join/confirm/{token}":   {Do: confirm, Open: true},
	"GET /join/status/{token}":     {Do: status, Open: true},
	"POST /join/withdraw/{token}":  {Do: withdraw, Open: true},
}

// New returns the join pages.
func New(o Options) (*Pages, error) {
	s, err := site.New(site.Options{
		Path:    "/join",
		BaseURL: o.BaseURL,
		Clock:   o.Clock,
		Pool:    o.Pool,
		Wake:    o.Wake,
		Guard:   guard,
		Timeout: timeout,
		Locale:  func(accepted string) *locale.Locale { return locale.Of(accepted) },
	}, routes)
	return &Pages{o, s}, err
}

// Register adds the pages to e. They answer every path below /join, so that every error is a page.
func (p *Pages) Register(e *echo.Echo) { e.Any(folder+"*", p.serve) }

// PathOf is the address of a program's join page, by its subdomain or its id.
func PathOf(name string) string { return folder + name }

// serve answers a request. Forms are tied to their page.
func (p *Pages) serve(c echo.Context) error {
	v := &visit{Visit: p.site.Visit(c), pages: p}
	v.chosen = v.ReadLanguage()
	v.Token = c.Request().URL.Path
	return p.site.Serve(v)
}

// tokenForm is the form of a mailed link's token.
var tokenForm = regexp.MustCompile(`^[A-Z2-7]{26}$`)
