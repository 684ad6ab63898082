// Package portal serves the pages on which partners see their links and earnings and choose a payout method. They
// need no JavaScript. Partners sign in with a link. The pages read the same lists and call the same rules as the API,
// bound to the organization, the program and the partner of the session.
//
// The portal decides nothing about programs, partners or money. A request is a visit (visit.go) of a session
// (session.go); each page has a file, and view.go renders the templates. Package site has the layout and reads forms.
package portal

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/http/middleware"
	"rail/server/http/site"
	"rail/server/locale"
	"rail/server/outbound/webhook"
	"rail/server/problem"
	"rail/server/program/partner"
	"rail/server/program/tracking"
	"rail/server/secret"
	"rail/server/team/attempt"
	"rail/server/work/quota"
)

// timeout bounds the work of one request, as it does for the API.
const timeout = 8 * time.Second

var queries = db.New()

// Options holds the dependencies of the portal.
type Options struct {
	Keeper   *secret.Keeper
	BaseURL  string // the service's address
	ShortURL string // the address of short links; below BaseURL if it is empty
	Partners *partner.Service
	Document *middleware.Document
	Pool     *pgxpool.Pool
	Webhooks *webhook.Endpoints
	Attempts attempt.Book // of asking for links
	Service  string       // the product's name
	Clock    clock.Clock
	Address  func(echo.Context) string // the visitor's address, behind proxies too
	// Plan holds the limits of organizations without specific ones.
	Plan quota.Plan
	// Wake is called when events have been committed; it may be nil.
	Wake func()
}

// Portal serves everything under /portal.
type Portal struct {
	Options
	routes map[string]route
	origin *http.CrossOriginProtection
	cookie site.Cookie // the session's
}

// action answers a request.
type action func(*visit) error

// route is one path. Both actions need a session.
type route struct{ get, post action }

// New returns the portal.
func New(o Options) (*Portal, error) {
	o.ShortURL = tracking.ShortBase(o.BaseURL, o.ShortURL)
	origin, err := site.Origin(o.BaseURL)
	if err != nil {
		return nil, err
	}
	p := &Portal{Options: o, origin: origin, cookie: site.Cookie{
		Name: "rail_portal", Path: "/portal", Secure: strings.HasPrefix(o.BaseURL, "https:"),
	}}
	p.routes = map[string]route{
		"/portal":                        {get: overview},
		"/portal/links":                  {get: links},
		"/portal/links/add":              {post: addLink},
		"/portal/links/rename":           {post: renameLink},
		"/portal/links/delete":           {post: deleteLink},
		"/portal/qr.svg":                 {get: qrPicture},
		"/portal/qr.png":                 {get: qrFile},
		"/portal/customers":              {get: customers},
		"/portal/commissions":            {get: commissions},
		"/portal/commissions.csv":        {get: commissionTable},
		"/portal/payouts":                {get: payouts},
		"/portal/payout":                 {get: onePayout},
		"/portal/payout/commissions.csv": {get: payoutTable},
		"/portal/payout/statement":       {get: statement},
		"/portal/payout/statement.pdf":   {get: statementFile},
		"/portal/resources":              {get: resources},
		"/portal/settings":               {get: settings},
		"/portal/settings/profile":       {post: saveProfile},
		"/portal/settings/payout":        {post: savePayout},
		"/portal/settings/notifications": {post: saveNotifications},
		"/portal/postback":               {get: postback},
		"/portal/postback/save":          {post: savePostback},
		"/portal/postback/rotate":        {post: rotatePostback},
		"/portal/postback/ping":          {post: pingPostback},
		"/portal/postback/delete":        {post: deletePostback},
		"/portal/sign-out":               {post: signOut},
		"/portal/again":                  {post: again},
	}
	return p, nil
}

// Register adds the portal to e. The portal answers every path below /portal, so that every error is a page and never
// JSON.
func (p *Portal) Register(e *echo.Echo) {
	e.Any("/portal", p.serve)
	e.Any("/portal/*", p.serve)
	e.Any("/embed/*", p.serve)
	registerLoader(e)
}

// guard ties the portal's forms to its sessions.
var guard = site.Guard{Purpose: "rail/portal-form"}

// serve answers one request. The log gets the route's pattern, since a path may contain a token. The context outlives
// the connection's: a change completes even if the browser disconnects, as in the API.
func (p *Portal) serve(c echo.Context) error {
	site.Confine(c.Response().Header())
	v := &visit{Context: c, portal: p, now: p.Clock.Now(), locale: locale.Of(c.Request().Header.Get("Accept-Language"))}
	v.frame, v.page = framed(c.Request().URL.Path)
	defer site.Detach(c, allowance(v.page))()
	if err := p.dispatch(v); err != nil {
		return v.fail(err)
	}
	return nil
}

// allowance returns the timeout of a request, which for a test of a postback includes the receiver's.
func allowance(path string) time.Duration {
	if path == "/portal/postback/ping" {
		return timeout + webhook.Deadline
	}
	return timeout
}

// dispatch answers sign-in links, which need no session, and the routes, which do.
func (p *Portal) dispatch(v *visit) error {
	path, method := v.page, v.Request().Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if v.frame != "" {
		return p.serveFrame(v, method)
	}
	if token, ok := strings.CutPrefix(path, "/portal/sso/"); ok {
		v.SetPath("/portal/sso/:token")
		if method != http.MethodGet {
			return site.RefuseMethod(v, "GET, HEAD")
		}
		return p.signIn(v, token)
	}
	if token, ok := strings.CutPrefix(path, "/portal/sign-in/"); ok {
		v.SetPath("/portal/sign-in/:token")
		return p.useMailed(v, token)
	}
	if path == "/portal/sign-in" && method == http.MethodPost {
		v.SetPath(path)
		return p.mailLink(v)
	}
	v.SetPath(path)
	return p.route(v, method)
}

// route answers with a page that needs a session.
func (p *Portal) route(v *visit, method string) error {
	r, ok := p.routes[v.page]
	if !ok {
		v.SetPath("/portal/*")
		return problem.New(problem.RouteNotFound, "There is no such page.")
	}
	switch {
	case method == http.MethodGet && r.get != nil:
		return p.read(v, r.get)
	case method == http.MethodPost && r.post != nil:
		return p.change(v, r.post)
	case r.get != nil:
		return site.RefuseMethod(v, "GET, HEAD")
	}
	return site.RefuseMethod(v, "POST")
}

// read answers a GET.
func (p *Portal) read(v *visit, do action) error {
	if err := v.identify(); err != nil {
		return err
	}
	return do(v)
}

// change answers a POST, which must come from a page of this session. It checks the origin before the session, and
// the session before the body, so that a forged request costs neither a query nor memory.
func (p *Portal) change(v *visit, do action) error {
	if err := p.origin.Check(v.Request()); err != nil {
		return site.ErrForged
	}
	if err := v.identify(); err != nil {
		return err
	}
	if v.session.Visitor && v.page != "/portal/sign-out" {
		return errVisitor
	}
	form, err := guard.Read(v.Response(), v.Request(), v.token)
	if err != nil {
		return err
	}
	v.form = form
	return do(v)
}

// Refusals of the portal, each with a page.
var (
	errSignedOut = errors.New("portal: not signed in")
	errEmbed     = errors.New("portal: the embed token does not work")
	errVisitor   = errors.New("portal: somebody else than the partner looks at it")
	errStale     = errors.New("portal: the partner has signed in too long ago")
)
