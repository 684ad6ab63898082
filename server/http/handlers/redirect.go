package handlers

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"

	"rail/gen/db"
	"rail/server/auth"
	"rail/server/clock"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/quota"
	"rail/server/secret"
	"rail/server/work"
)

// visitorCookie recognizes a browser that followed a short link before.
const visitorCookie = "rail_visitor"

// visitorToken is the form of the cookie's value; anything else is replaced.
var visitorToken = regexp.MustCompile(`^[A-Za-z0-9_-]{22}$`)

// shortSlug is the form of a slug.
var shortSlug = regexp.MustCompile(`^[0-9A-Za-z]{1,32}$`)

// robots are user agents that look at links and are not visitors.
var robots = regexp.MustCompile(`(?i)bot\b|crawl|spider|slurp|preview|facebookexternalhit|embedly|whatsapp|telegram|headless|monitor|curl/|wget/|python-|go-http-client|okhttp|libwww|scan`)

// Redirector serves the public short links, GET /r/{slug}.
type Redirector struct {
	Server  *Server
	Pool    *pgxpool.Pool
	Clock   clock.Clock
	Log     *slog.Logger
	Plan    quota.Plan                // of organizations that have none of their own
	Wake    func()                    // called when events have been committed
	Address func(echo.Context) string // the visitor's address, behind proxies too
}

// Redirect sends the visitor on and records the click. It always redirects a
// known slug, also of a deleted link, a paused program or a partner that is
// not active; those record nothing.
func (d *Redirector) Redirect(c echo.Context) error { return d.redirect(c, true) }

// Forward sends the visitor on and records nothing.
func (d *Redirector) Forward(c echo.Context) error { return d.redirect(c, false) }

func (d *Redirector) redirect(c echo.Context, record bool) error {
	ctx := c.Request().Context()
	slug := c.Param("slug")
	if !shortSlug.MatchString(slug) {
		return problem.New(problem.RouteNotFound, "No such link.")
	}
	hit, err := queries.LinkBySlug(ctx, d.Pool, &slug)
	if errors.Is(err, pgx.ErrNoRows) {
		return problem.New(problem.RouteNotFound, "No such link.")
	}
	if err != nil {
		return err
	}
	target := trackingURL(hit.Link.DestinationURL, hit.Link.Param, hit.Link.Value)
	if record && counts(c.Request()) && hit.PartnerStatus == db.PartnerStatusActive && hit.ProgramStatus == db.ProgramStatusActive {
		d.record(ctx, c, hit, target)
	}
	c.Response().Header().Set("Cache-Control", "private, no-store")
	return c.Redirect(http.StatusFound, target)
}

// counts tells a visit from a look: HEAD, prefetches and known robots are not
// visitors.
func counts(r *http.Request) bool {
	purpose := r.Header.Get("Purpose") + r.Header.Get("Sec-Purpose") + r.Header.Get("X-Moz")
	return r.Method == http.MethodGet && !strings.Contains(strings.ToLower(purpose), "prefetch") && !robots.MatchString(r.UserAgent())
}

// record records the visit like one of the API. A visitor is sent on whatever
// happens to the record.
func (d *Redirector) record(ctx context.Context, c echo.Context, hit db.LinkBySlugRow, landing string) {
	visitor := secret.HashToken(d.visitor(c))
	unit := work.New(d.Pool, work.Unit{
		OrgID: hit.Link.OrgID, Plan: d.Plan.With(quota.Own{FraudMonitoring: hit.FraudMonitoring}), Actor: work.Actor{Kind: work.Visitor},
		RequestID: c.Response().Header().Get("Rail-Request-Id"), Now: d.Clock.Now(), Wake: d.Wake,
	})
	err := unit.Within(ctx, func(u *work.Unit) error { return d.click(ctx, u, c, hit, visitor, landing) })
	if err != nil {
		d.Log.Error("short link click not recorded", "link", hit.Link.ID, "error", err)
	}
}

func (d *Redirector) click(
	ctx context.Context, u *work.Unit, c echo.Context, hit db.LinkBySlugRow, visitor []byte, landing string,
) error {
	l, agent, referer := hit.Link, c.Request().UserAgent(), c.Request().Referer()
	current, err := queries.TrackingResolve(ctx, u.DB(), db.TrackingResolveParams{
		ProgramID: l.ProgramID, OrgID: l.OrgID, Value: l.ValueKey, LandingKey: l.DestinationKey, Visitor: visitor, Now: u.Now,
	})
	if err != nil {
		return work.IgnoreNoRows(err)
	}
	_, err = d.Server.record(ctx, u, visit{
		programID: l.ProgramID, partnerID: l.PartnerID, linkID: l.ID, referralID: current.ReferralID, param: l.Param, visitor: visitor,
		landingURL: landing, asked: c.Request().URL.RawQuery, ip: d.Address(c), userAgent: opt.OrNil(clean(agent)), referer: opt.OrNil(clean(referer)),
		cookieDays: hit.CookieDays,
	})
	return err
}

// visitor returns the browser's token, making one where there is none.
func (d *Redirector) visitor(c echo.Context) string {
	if k, err := c.Cookie(visitorCookie); err == nil && visitorToken.MatchString(k.Value) {
		return k.Value
	}
	token := auth.NewSlug(22)
	c.SetCookie(&http.Cookie{
		Name: visitorCookie, Value: token, Path: "/r/", MaxAge: 365 * 24 * 3600, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: strings.HasPrefix(d.Server.BaseURL, "https:"),
	})
	return token
}

// clean makes a header's text fit to be stored.
func clean(s string) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "")
	if len(s) > 2048 {
		s = strings.ToValidUTF8(s[:2048], "")
	}
	return s
}
