package handlers

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/event"
	"rail/server/ident"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/program/risk"
	"rail/server/secret"
	"rail/server/work"
)

// visit is a click to record, however it came in.
type visit struct {
	programID, partnerID           string
	linkID, referralID             string // "" for none
	param                          string
	visitor                        []byte
	landingURL                     string
	asked                          string // the query of a short link's visit
	ip                             string
	userAgent, referer, geo, gizmo *string
	cookieDays                     int64
}

// CreateClick records a visit that the merchant's server saw. The value is
// resolved as the browser script does: partner handles first, then custom link
// values; the visitor joins one live referral a partner (decisions, 65 and 68).
func (s *Server) CreateClick(ctx context.Context, r api.CreateClickRequestObject) (api.CreateClickResponseObject, error) {
	u, b := work.From(ctx), r.Body
	from, err := referrer(b)
	if err != nil {
		return nil, err
	}
	value := strings.ToLower(b.Value)
	visitor := secret.HashToken(b.VisitorToken)
	var p db.Program
	var hit db.TrackingResolveRow
	errs := u.Each(ctx,
		func(tx pgtx.DBTX) (err error) {
			p, err = queries.ProgramGet(ctx, tx, db.ProgramGetParams{ID: b.ProgramID, OrgID: u.OrgID})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			hit, err = queries.TrackingResolve(ctx, tx, db.TrackingResolveParams{
				ProgramID: b.ProgramID, OrgID: u.OrgID, Value: value, LandingKey: destinationKey(b.LandingURL), Visitor: visitor, Now: u.Now,
			})
			return err
		})
	if err := work.Found(errs[0], "program_id"); err != nil {
		return nil, err
	}
	if p.Status == db.ProgramStatusPaused {
		return nil, problem.New(problem.ProgramPaused, "The program is paused; it takes no new clicks.")
	}
	if err := work.IgnoreNoRows(errs[1]); err != nil {
		return nil, err
	}
	if errs[1] != nil {
		return nil, problem.On("value", problem.TrackingValueNotFound, "value is neither a handle of an active partner nor a link value of this program.")
	}
	click, err := s.record(ctx, u, visit{
		programID: p.ID, partnerID: hit.PartnerID, linkID: hit.LinkID, referralID: hit.ReferralID, param: opt.Value(b.Param),
		visitor: visitor, landingURL: b.LandingURL, ip: opt.Value(b.IP), userAgent: b.UserAgent, referer: from,
		geo: opt.Upper(b.Country), gizmo: b.Device, cookieDays: p.CookieDays,
	})
	return api.CreateClick201JSONResponse(toClick(click)), err
}

// referrer returns the page that the visitor came from, in whichever spelling it
// was given.
func referrer(b *api.ClickCreate) (*string, error) {
	switch {
	case b.Referer == nil:
		return b.Referrer, nil
	case b.Referrer != nil && *b.Referrer != *b.Referer:
		return nil, problem.On("referer", problem.ParametersExclusive, "referer and referrer are two spellings of one thing, and differ here.")
	}
	return b.Referer, nil
}

// record writes a click and, for a visitor without a live referral, the
// referral that it opens.
func (s *Server) record(ctx context.Context, u *work.Unit, v visit) (db.Click, error) {
	referral := v.referralID
	if referral == "" {
		opened, err := open(ctx, u, v)
		if err != nil {
			return db.Click{}, err
		}
		referral = opened
	}
	click := db.Click{
		ID: ident.New(ident.Click), OrgID: u.OrgID, ProgramID: v.programID, PartnerID: v.partnerID, LinkID: opt.OrNil(v.linkID),
		ReferralID: &referral, Param: v.param, UserAgent: v.userAgent, Referer: v.referer, Country: v.geo, Device: v.gizmo,
		LandingURL: &v.landingURL, CreatedAt: u.Now,
	}
	if click.Param == "" {
		click.Param = "ref"
	}
	if risk.Identifies(v.ip) {
		click.IPHash = s.Keeper.HashIP(v.programID, v.ip)
	}
	if err := s.checkClick(ctx, u, v); err != nil {
		return click, err
	}
	return click, queries.ClickInsert(ctx, u.Later(), db.ClickInsertParams(click))
}

// open writes a referral; an expired one of the same visitor makes room first.
func open(ctx context.Context, u *work.Unit, v visit) (string, error) {
	retire := db.ReferralRetireParams{ProgramID: v.programID, OrgID: u.OrgID, PartnerID: v.partnerID, Visitor: v.visitor, Now: u.Now}
	if err := queries.ReferralRetire(ctx, u.Later(), retire); err != nil {
		return "", err
	}
	r := db.ReferralInsertParams{
		ID: ident.New(ident.Referral), OrgID: u.OrgID, ProgramID: v.programID, PartnerID: v.partnerID, LinkID: opt.OrNil(v.linkID),
		Visitor: v.visitor, LandingURL: &v.landingURL, UTM: utmOf(v.landingURL), TrackedBy: db.TrackedByLink, Status: db.ReferralStatusVisit,
		ExpiresAt: u.Now.Days(v.cookieDays), CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	u.Record(event.Subject{ProgramID: v.programID, PartnerID: v.partnerID, ID: r.ID}, events.ReferralCreated(api.ReferralCreatedData{
		ReferralID: r.ID, PartnerID: r.PartnerID, LinkID: r.LinkID, LandingURL: r.LandingURL, TrackedBy: api.TrackedByLink, ExpiresAt: r.ExpiresAt,
	}))
	return r.ID, queries.ReferralInsert(ctx, u.Later(), r)
}

// utmOf returns the utm_ parameters of a landing page as an object, or nil
// where there are none (decisions, 70). Of a repeated one the first counts.
func utmOf(landing string) []byte {
	u, err := url.Parse(landing)
	if err != nil {
		return nil
	}
	utm := map[string]string{}
	for name, values := range u.Query() {
		if strings.HasPrefix(name, "utm_") && len(values) > 0 {
			utm[clean(name)] = clean(values[0])
		}
	}
	if len(utm) == 0 {
		return nil
	}
	raw, err := json.Marshal(utm)
	if err != nil {
		return nil
	}
	return raw
}
