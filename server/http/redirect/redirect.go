// Package redirect serves the public short links, GET /r/{slug}: it redirects visitors and records
// their clicks.
package redirect

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"

	"rail/server/auth"
	"rail/server/clock"
	"rail/server/http/robots"
	"rail/server/problem"
	"rail/server/program/tracking"
	"rail/server/work"
	"rail/server/work/quota"
)

// visitorCookie is set on browsers that follow a short link, so that their later
// visits count as the same visitor's.
const visitorCookie = "rail_visitor"

// visitorToken matches the cookie's value; any other value is replaced.
var visitorToken = regexp.MustCompile(`^[A-Za-z0-9_-]{22}$`)

// shortSlug matches slugs, so that other paths cost no query.
var shortSlug = regexp.MustCompile(`^[0-9A-Za-z]{1,32}$`)

// Options configures short links.
type Options struct {
	Tracking tracking.Service
	Pool     *pgxpool.Pool
	Clock    clock.Clock
	Log      *slog.Logger
	Plan     quota.Plan                // the default of organizations
	Wake     func()                    // called after events have been committed
	Address  func(echo.Context) string // the visitor's address, behind proxies too
	Secure   bool                      // clients reach the service over HTTPS only
	// ShortURL is the address of short links in browsers, such as tracking.ShortBase returns. A proxy may serve them
	// on a separate domain, without /r. The default is /r of the service.
	ShortURL string
}

// Redirector serves the short links.
type Redirector struct{ Options }

// New returns the handlers of short links.
func New(o Options) *Redirector { return &Redirector{o} }

// Redirect redirects the visitor and records the click. It redirects every known slug, even of a
// deleted link, a paused program or an inactive partner; for the last two it records nothing. It
// passes the visitor's parameters on.
func (d *Redirector) Redirect(c echo.Context) error { return d.redirect(c, true) }

// Forward redirects the visitor and records nothing, for an address beyond its rate limit.
func (d *Redirector) Forward(c echo.Context) error { return d.redirect(c, false) }

func (d *Redirector) redirect(c echo.Context, record bool) error {
	ctx := c.Request().Context()
	slug := slugOf(c.Param("slug"))
	if slug == "" {
		return problem.New(problem.RouteNotFound, "No such link.")
	}
	link, err := tracking.BySlug(ctx, d.Pool, slug)
	if errors.Is(err, pgx.ErrNoRows) {
		return problem.New(problem.RouteNotFound, "No such link.")
	}
	if err != nil {
		return err
	}
	link = link.Carry(c.Request().URL.RawQuery)
	if record && robots.Sighting(c.Request()) && link.Counts() {
		if click := d.record(ctx, c, link); click != "" && link.ClickOnRedirect {
			link.Target = tracking.URL(link.Target, "rail_click", click)
		}
	}
	c.Response().Header().Set("Cache-Control", "private, no-store")
	return c.Redirect(http.StatusFound, link.Target)
}

// slugOf returns the slug in a path, or "". It removes characters that pasting adds, such as a
// period at the end.
func slugOf(path string) string {
	if shortSlug.MatchString(path) {
		return path
	}
	forms := tracking.Pasted(path)
	if i := slices.IndexFunc(forms, shortSlug.MatchString); i >= 0 {
		return forms[i]
	}
	return ""
}

// record records the visit like the API. It only logs errors, since the visitor is redirected in
// any case. The page takes over the returned click, because it cannot read this cookie.
func (d *Redirector) record(ctx context.Context, c echo.Context, link tracking.ShortLink) (click string) {
	r := c.Request()
	visit := tracking.Visit{
		VisitorToken: d.visitor(c), Query: r.URL.RawQuery, IP: d.Address(c),
		UserAgent: new(r.UserAgent()), Referer: new(r.Referer()),
	}
	unit := work.New(d.Pool, work.Unit{
		OrgID: link.Link.OrgID, Plan: d.Plan.With(quota.Own{FraudMonitoring: link.FraudMonitoring}),
		Actor: work.Actor{Kind: work.Visitor}, RequestID: c.Response().Header().Get("Rail-Request-Id"),
		Now: d.Clock.Now(), Wake: d.Wake,
	})
	err := unit.Within(ctx, func(u *work.Unit) (err error) {
		click, err = d.Tracking.Follow(ctx, u, link, visit)
		return err
	})
	if err != nil {
		d.Log.Error("cannot record the click of a short link", "link", link.Link.ID, "error", err)
		return ""
	}
	return click
}

// visitor returns the browser's token, and sets a new one if it has none. The cookie lasts a year
// and is sent to short links only, whose path in the browser may be another than here.
func (d *Redirector) visitor(c echo.Context) string {
	if k, err := c.Cookie(visitorCookie); err == nil && visitorToken.MatchString(k.Value) {
		return k.Value
	}
	path, secure := "/r/", d.Secure
	if u, err := url.Parse(d.ShortURL); err == nil && u.Host != "" {
		path, secure = strings.TrimSuffix(u.EscapedPath(), "/")+"/", u.Scheme == "https"
	}
	token := auth.NewSlug(22)
	c.SetCookie(&http.Cookie{
		Name: visitorCookie, Value: token, Path: path, MaxAge: 365 * 24 * 3600, HttpOnly: true,
		SameSite: http.SameSiteLaxMode, Secure: secure,
	})
	return token
}
