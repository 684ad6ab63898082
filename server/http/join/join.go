// Package join serves the pages on which people apply to a program: its offer, its questions and a form. They need no
// JavaScript. The response to an application is the same for every address, so that it reveals no partners.
//
// The applicant confirms the email address with a mailed link (confirm.go), which then shows the status of the
// application. Package joining has the rules; package site has the layout and reads forms.
package join

import (
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/http/middleware"
	"rail/server/http/site"
	"rail/server/locale"
	"rail/server/problem"
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
	origin *http.CrossOriginProtection
}

// New returns the join pages.
func New(o Options) (*Pages, error) {
	origin, err := site.Origin(o.BaseURL)
	return &Pages{o, origin}, err
}

// folder is the path of the join pages.
const folder = "/join/"

// Register adds the pages to e. They answer every path below /join, so that every error is a page.
func (p *Pages) Register(e *echo.Echo) {
	e.Any(folder+"*", p.serve)
}

// PathOf is the address of a program's join page, by its subdomain or its id.
func PathOf(door string) string { return folder + door }

// guard ties a form to its page: there are no sessions here.
var guard = site.Guard{Purpose: "rail/join-form"}

// serve answers a request. The context outlives the connection's: a change completes even if the browser disconnects.
func (p *Pages) serve(c echo.Context) error {
	site.Confine(c.Response().Header())
	defer site.Detach(c, timeout)()
	v := &visit{Context: c, pages: p, now: p.Clock.Now(), locale: locale.Of(c.Request().Header.Get("Accept-Language"))}
	if err := p.dispatch(v); err != nil {
		return v.fail(err)
	}
	return nil
}

// action answers a request.
type action func(*visit) error

// links are the pages of mailed links, by the path before the token.
var links = map[string]struct{ get, post action }{
	"confirm": {ask, confirm}, "status": {get: status}, "withdraw": {post: withdraw},
}

// tokenForm is the form of a mailed link's token.
var tokenForm = regexp.MustCompile(`^[A-Z2-7]{26}$`)

// dispatch finds the page of a path. The log gets the pattern, since a path may contain a token.
func (p *Pages) dispatch(v *visit) error {
	first, second, more := strings.Cut(strings.TrimPrefix(v.Request().URL.Path, folder), "/")
	if link, ok := links[first]; ok && more {
		v.SetPath(folder + first + "/:token")
		if !tokenForm.MatchString(second) {
			return joining.ErrLink
		}
		v.token = second
		return p.answer(v, link.get, link.post)
	}
	v.SetPath(folder + ":program/:group")
	if strings.Contains(second, "/") || more && second == "" || !site.Spelled(first+second) {
		return problem.New(problem.RouteNotFound, "There is no such page.")
	}
	if err := v.enter(first, second); err != nil {
		return err
	}
	return p.answer(v, show, apply)
}

// answer runs the action of the request's method; nil refuses the method.
func (p *Pages) answer(v *visit, get, post action) error {
	switch method := v.Request().Method; {
	case get != nil && (method == http.MethodGet || method == http.MethodHead):
		return get(v)
	case post != nil && method == http.MethodPost:
		return p.change(v, post)
	case get == nil:
		return site.RefuseMethod(v, "POST")
	case post == nil:
		return site.RefuseMethod(v, "GET, HEAD")
	}
	return site.RefuseMethod(v, "GET, HEAD, POST")
}

// change runs the action of a form, which must come from a page of this server.
func (p *Pages) change(v *visit, do action) error {
	if err := p.origin.Check(v.Request()); err != nil {
		return site.ErrForged
	}
	form, err := guard.Read(v.Response(), v.Request(), v.Request().URL.Path)
	if err != nil {
		return err
	}
	v.form = form
	return do(v)
}
