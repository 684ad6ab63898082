// Package portal serves the pages on which partners see their links and earnings and choose a payout method. They
// need no JavaScript. Partners sign in with a link. The pages read the same lists and call the same rules as the API,
// bound to the organization, the program and the partner of the session.
//
// The portal decides nothing about programs, partners or money. A request is a visit (visit.go) of a session
// (session.go); each page has a file, and view.go renders the templates. Package site has the layout and reads forms.
package portal

import (
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"

	"rail/gen/db"
	"rail/server/auth/attempt"
	"rail/server/clock"
	"rail/server/http/middleware"
	"rail/server/http/site"
	"rail/server/locale"
	"rail/server/outbound/webhook"
	"rail/server/program/claim"
	"rail/server/program/partner"
	"rail/server/program/tracking"
	"rail/server/secret"
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
	// Claims issues tokens for AI assistants.
	Claims claim.Service
	// Wake is called when events have been committed; it may be nil.
	Wake func()
}

// Portal serves everything under /portal.
type Portal struct {
	Options
	site   *site.Site[*visit]
	cookie site.Cookie // the session's
	boards boards
}

// route is a method and path of the portal.
type route = site.Route[*visit]

// New returns the portal.
func New(o Options) (*Portal, error) {
	o.ShortURL = tracking.ShortBase(o.BaseURL, o.ShortURL)
	p := &Portal{Options: o, cookie: site.Cookie{
		Name: "rail_portal", Path: "/portal", Secure: strings.HasPrefix(o.BaseURL, "https:"),
	}}
	var err error
	p.site, err = site.New(site.Options{
		Path:    "/portal",
		BaseURL: o.BaseURL,
		Clock:   o.Clock,
		Pool:    o.Pool,
		Wake:    o.Wake,
		Guard:   site.Guard{Purpose: "rail/portal-form"},
		Timeout: timeout,
		Locale:  func(accepted string) *locale.Locale { return locale.Of(accepted) },
	}, routes)
	return p, err
}

// routes are all paths of the portal.
var routes = map[string]route{
	"GET /portal":                         {Do: overview},
	"GET /portal/links":                   {Do: links},
	"POST /portal/links/add":              {Do: addLink},
	"POST /portal/links/rename":           {Do: renameLink},
	"POST /portal/links/delete":           {Do: deleteLink},
	"GET /portal/assistants":              {Do: assistants},
	"POST /portal/assistants/add":         {Do: addToken},
	"GET /portal/qr.svg":                  {Do: qrPicture},
	"GET /portal/qr.png":                  {Do: qrFile},
	"GET /portal/poster.svg":              {Do: poster},
	"GET /portal/customers":               {Do: customers},
	"GET /portal/commissions":             {Do: commissions},
	"GET /portal/commissions.csv":         {Do: commissionTable},
	"GET /portal/payouts":                 {Do: payouts},
	"GET /portal/payout":                  {Do: onePayout},
	"GET /portal/payout.ics":              {Do: calendarEntry},
	"GET /portal/payout/commissions.csv":  {Do: payoutTable},
	"GET /portal/payout/statement":        {Do: statement},
	"GET /portal/payout/statement.pdf":    {Do: statementFile},
	"GET /portal/payout/statement.json":   {Do: statementJSON},
	"GET /portal/resources":               {Do: resources},
	"GET /portal/settings":                {Do: settings},
	"POST /portal/settings/profile":       {Do: saveProfile},
	"POST /portal/settings/payout":        {Do: savePayout},
	"POST /portal/settings/notifications": {Do: saveNotifications},
	"POST /portal/settings/leaderboard":   {Do: saveRanked},
	"GET /portal/postback":                {Do: postback},
	"POST /portal/postback/save":          {Do: savePostback},
	"POST /portal/postback/rotate":        {Do: rotatePostback},
	"POST /portal/postback/ping":          {Do: pingPostback, Timeout: timeout + webhook.Deadline}, // the receiver's too
	"POST /portal/postback/delete":        {Do: deletePostback},
	"GET /portal/sso/{token...}":          {Do: signIn, Open: true},
	"POST /portal/sign-in":                {Do: mailLink, Open: true},
	"GET /portal/sign-in/{token...}":      {Do: mailedLink, Open: true},
	"POST /portal/sign-in/{token...}":     {Do: useMailed, Open: true, Linked: true},
	"POST /portal/sign-out":               {Do: signOut},
	"POST /portal/again":                  {Do: again},
	"POST /portal/switch":                 {Do: switchPlace},
	"POST /portal/language":               {Do: saveLanguage},
}

// Register adds the portal to e. The portal answers every path below /portal, so that every error is a page and never
// JSON.
func (p *Portal) Register(e *echo.Echo) {
	e.Any("/portal", p.serve)
	e.Any("/portal/*", p.serve)
	e.Any("/embed/*", p.serveFrame)
	registerLoader(e)
}

// serve answers one request.
func (p *Portal) serve(c echo.Context) error {
	v := &visit{Visit: p.site.Visit(c), portal: p}
	v.ReadLanguage()
	return p.site.Serve(v)
}

// Refusals of the portal, each with a page.
var (
	errSignedOut = errors.New("portal: not signed in")
	errEmbed     = errors.New("portal: the embed token does not work")
	errVisitor   = errors.New("portal: somebody else than the partner looks at it")
	errStale     = errors.New("portal: the partner has signed in too long ago")
)
