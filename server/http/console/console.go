// Package console is where the people who run a program do their daily work: pages made on the
// server, which need no JavaScript.
//
// The console decides nothing about programs, partners or money. Every page requests the API within this process, as
// the signed-in person (api.go). An integration can therefore do everything that a page does, under the same rules
// and limits, and the audit log names the person. A form's fields are the members of an operation's body (form.go),
// so that a refusal of the API finds its field. API keys, people and connections to processors are not part of the
// API: those pages call the rules.
//
// A request is a visit (visit.go) of a session (session.go). Each page has a file with its routes and a template
// (view.go); routes.go lists all of them.
package console

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"

	"rail/gen/api"
	"rail/server/clock"
	"rail/server/http/console/oidc"
	"rail/server/http/middleware"
	"rail/server/http/site"
	"rail/server/inbound/hookup"
	"rail/server/locale"
	"rail/server/postgres/shortage"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/team"
	"rail/server/work/quota"
)

// timeout bounds the work of one request: some pages ask the API several times.
const timeout = 20 * time.Second

// Options holds the dependencies of the console.
type Options struct {
	Handler  http.Handler // the whole server, whose API the pages ask
	BaseURL  string       // where the console is reached
	Docs     string       // where the documentation of the API is
	Document *middleware.Document
	Keeper   *secret.Keeper
	Pool     *pgxpool.Pool
	People   *team.Service
	Provider *oidc.Provider // for sign-in; nil for none
	// FirstRole is the role of people who sign in with the provider without an invitation; "" refuses them.
	FirstRole team.Role
	// Processors connects programs to payment processors, on both sides.
	Processors hookup.Service
	Service    string // the product's name
	Clock      clock.Clock
	Address    func(echo.Context) string // the visitor's address, behind proxies too
	// Limit counts a request against a name that may ask so often a second.
	Limit func(name string, perSecond int) error
	// PerPerson is how many pages a second a person may ask for, at each server.
	PerPerson int
	// Plan holds the limits of organizations without specific ones.
	Plan quota.Plan
	// Wake is called when events have been committed; it may be nil.
	Wake func()
	// Shortage watches the database's disk and memory; it may be nil.
	Shortage *shortage.Watch
	// Notices returns the problems of the service, for the home page; it may be nil.
	Notices func(context.Context, Reader) ([]Notice, error)
	// Position returns the database's position in its log; nil without standbys.
	Position func(context.Context) string
}

// Reader is the person who reads notices, and the program.
type Reader struct {
	OrgID, ProgramID string
	Owner            bool // may fix problems of the service
}

// Notice is a problem. Page is the program's page about it, "" for none.
type Notice struct{ Text, Page string }

// Console serves everything under /console.
type Console struct {
	Options
	api        *api.ClientWithResponses
	localAPI   localAPI
	operations map[string][2]string // method and path
	bodies     map[string]*openapi3.Schema
	mux        *http.ServeMux
	origin     *http.CrossOriginProtection
	secure     bool        // the service is reached by https
	cookie     site.Cookie // the session's
	// remembered is the cookie of a browser that has signed in before. It grants no access.
	remembered site.Cookie
}

// action answers a visit.
type action func(*visit) error

// New returns the console.
func New(o Options) (*Console, error) {
	asks, err := client(o.Handler)
	if err != nil {
		return nil, err
	}
	c := &Console{
		Options:    o,
		api:        asks,
		localAPI:   localAPI{o.Handler},
		operations: o.Document.Operations(),
		bodies:     o.Document.Bodies(),
		mux:        http.NewServeMux(),
		secure:     strings.HasPrefix(o.BaseURL, "https:"),
	}
	c.cookie = site.Cookie{Name: "rail_console", Path: "/console", Secure: c.secure}
	c.remembered = site.Cookie{Name: "rail_console_browser", Path: "/console", Secure: c.secure}
	if c.origin, err = site.Origin(o.BaseURL); err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	for pattern, r := range routes() {
		c.mux.Handle(pattern, r)
	}
	return c, nil
}

// Register adds the console to e. The console answers every path below /console, so that every error is a page and
// never JSON.
func (c *Console) Register(e *echo.Echo) {
	e.Any("/console", c.serve)
	e.Any("/console/*", c.serve)
}

// serve answers one request. Its context outlives the connection's: a change completes even if the browser
// disconnects, as in the API.
func (c *Console) serve(e echo.Context) error {
	site.Confine(e.Response().Header(), "connect-src 'self'")
	defer site.Detach(e, timeout)()
	v := &visit{Context: e, console: c, now: c.Clock.Now(),
		locale: locale.Place(e.Request().Header.Get("Accept-Language"))}
	v.shared = newShared(v)
	r := e.Request().WithContext(context.WithValue(e.Request().Context(), visitKey{}, v))
	e.SetRequest(r)
	c.mux.ServeHTTP(e.Response(), r)
	return v.failed
}

// visitKey is the context's key of the visit.
type visitKey struct{}

// route is one method and path of the console.
type route struct {
	do   action
	open bool // needs no session
	// file names the form's file field, of at most maxFile bytes; "" for none.
	file string
}

// maxFile is the largest file that a form may have, in bytes.
const maxFile = 1 << 20

// ServeHTTP runs the route's action for the visit of the request. A fault of the server goes on to
// the log.
func (r route) ServeHTTP(_ http.ResponseWriter, req *http.Request) {
	v, _ := req.Context().Value(visitKey{}).(*visit)
	v.SetRequest(req)
	v.SetPath(req.Pattern[strings.IndexByte(req.Pattern, '/'):]) // for the log: a path may contain a token
	if err := r.answer(v); err != nil {
		v.failed = v.fail(err)
	}
}

// answer checks the origin of a form before the session, and the session before the body, so that a forged request
// costs neither a query nor memory.
func (r route) answer(v *visit) error {
	posted := v.Request().Method == http.MethodPost
	if posted && v.console.origin.Check(v.Request()) != nil {
		return site.ErrForged
	}
	if !r.open {
		if err := v.identify(); err != nil {
			return err
		}
	}
	if posted {
		if err := v.readForm(r.file); err != nil {
			return err
		}
		v.Response().Before(v.keepPosition)
	}
	if err := v.enter(); err != nil {
		return err
	}
	return r.do(v)
}

// notFound answers all other paths.
func notFound(*visit) error { return problem.New(problem.RouteNotFound, "There is no such page.") }
