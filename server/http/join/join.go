// Package join is the page on which people ask to become partners of a program: what it pays,
// what it wants to know, and a form. Nothing here needs JavaScript, and nothing is told about
// anybody: whatever address is given, the answer is to look into one's mail.
//
// The address that an application is from is confirmed by a mailed link (confirm.go), whose
// page then says how it stands. Package joining has the rules; what pages look like and how
// forms are read is the package design's.
package join

import (
	"context"
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

// Options is what the join pages depend on.
type Options struct {
	Pool     *pgxpool.Pool
	Keeper   *secret.Keeper
	BaseURL  string // where the service is reached, without a slash at its end
	Service  string // the product's name
	Document *middleware.Document
	Joining  *joining.Service
	Clock    clock.Clock
	Address  func(echo.Context) string // the visitor's address, behind proxies too
	// Plan is the limits of organizations that have none of their own.
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

// folder is where the join pages are.
const folder = "/join/"

// Register adds the pages to e. Every path below /join is theirs, known or not, so that whatever
// is wrong is answered with a page.
func (p *Pages) Register(e *echo.Echo) {
	e.Any(folder+"*", p.serve)
}

// PathOf is the address of a program's join page, by its subdomain or its id.
func PathOf(door string) string { return folder + door }

// guard reads the forms. Nobody is signed in: what they carry says for which page they are.
var guard = site.Guard{Purpose: "rail/join-form"}

// serve answers a request. The context is cut off from the connection's: a change that has begun
// ends even if the browser goes away.
func (p *Pages) serve(c echo.Context) error {
	site.Confine(c.Response().Header())
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request().Context()), timeout)
	defer cancel()
	c.SetRequest(c.Request().WithContext(ctx))
	v := &visit{Context: c, pages: p, now: p.Clock.Now(), locale: locale.Of(c.Request().Header.Get("Accept-Language"))}
	if err := p.dispatch(v); err != nil {
		return v.fail(err)
	}
	return nil
}

// action answers a request.
type action func(*visit) error

// links are the pages that a mailed link opens, by the word before its token: what asks, and what
// changes something.
var links = map[string]struct{ get, post action }{
	"confirm": {ask, confirm}, "status": {get: status}, "withdraw": {post: withdraw},
}

// tokenForm is the form of a mailed link's token.
var tokenForm = regexp.MustCompile(`^[A-Z2-7]{26}$`)

// dispatch finds what a path is. The log is given its pattern: a path may contain a token.
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

// answer does what a method asks for; nil is what a path does not know.
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

// change answers a form, which must come from a page of this server.
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
