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
	"sync"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"

	"rail/gen/api"
	"rail/server/clock"
	"rail/server/http/agent"
	"rail/server/http/console/oidc"
	"rail/server/http/middleware"
	"rail/server/http/site"
	"rail/server/inbound/importer"
	"rail/server/inbound/stripesetup"
	"rail/server/locale"
	"rail/server/money/payout/rails"
	"rail/server/postgres/shortage"
	"rail/server/program/portalsettings"
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
	Processors stripesetup.Service
	// Rails connects programs to services that move money.
	Rails *rails.Service
	// Imports moves programs in from other products.
	Imports *importer.Service
	Service string // the product's name
	Clock   clock.Clock
	Address func(echo.Context) string // the visitor's address, behind proxies too
	// Limit counts a request against a name that may ask so often a second.
	Limit func(name string, perSecond int) error
	// HoldOnHighRisk keeps partners with an open high risk flag from being paid by rails.
	HoldOnHighRisk bool
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
	// Preview answers with a program's join page with a draft of its settings.
	Preview func(c echo.Context, orgID, programID string, draft portalsettings.Changes) error
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
	// agents has the operations that MCP clients can prepare.
	agents agent.Catalogue
	bodies map[string]*openapi3.Schema
	site   *site.Site[*visit]
	cookie site.Cookie // the session's
	// remembered is the cookie of a browser that has signed in before. It grants no access.
	remembered site.Cookie
	// position holds the database's position after a form (position.go).
	position site.Cookie
	// trip holds the state of a sign-in at the OpenID provider.
	trip site.Cookie
	// setUp has the ids of programs whose set-up was done when a page last looked.
	setUp sync.Map
}

type (
	// action answers a visit.
	action = func(*visit) error
	// route is a method and path of the console.
	route = site.Route[*visit]
)

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
		agents:     agent.NewCatalogue(o.Document.All()),
	}
	cookie := func(name string) site.Cookie {
		return site.Cookie{Name: name, Path: "/console", Secure: strings.HasPrefix(o.BaseURL, "https:")}
	}
	c.cookie, c.remembered = cookie("rail_console"), cookie("rail_console_browser")
	c.position, c.trip = cookie("rail_console_position"), cookie("rail_console_trip")
	c.site, err = site.New(site.Options{
		Path:    "/console",
		BaseURL: o.BaseURL,
		Clock:   o.Clock,
		Pool:    o.Pool,
		Wake:    o.Wake,
		Guard:   site.Guard{Purpose: "rail/console-form"},
		Flash:   cookie("rail_console_flash"),
		Timeout: timeout,
		Sources: []string{"connect-src 'self'"},
		Locale:  locale.Place,
	}, routes())
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	return c, nil
}

// Register adds the console to e. The console answers every path below /console, so that every error is a page and
// never JSON.
func (c *Console) Register(e *echo.Echo) {
	e.Any("/console", c.serve)
	e.Any("/console/*", c.serve)
}

// serve answers one request.
func (c *Console) serve(e echo.Context) error {
	v := &visit{Visit: c.site.Visit(e), console: c}
	v.shared = newShared(v)
	return c.site.Serve(v)
}
