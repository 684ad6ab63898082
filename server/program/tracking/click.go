package tracking

import (
	"cmp"
	"context"
	"strings"

	"rail/gen/db"
	"rail/server/ident"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/program/risk"
	"rail/server/secret"
	"rail/server/work"
)

// Visit is what is known of a visitor who came by a partner's link.
type Visit struct {
	Param                               string // the parameter that carried the value; "" for the usual one
	VisitorToken                        string // the browser's, of which a hash is kept
	LandingURL                          string
	Query                               string // of a short link's address; "" for none
	IP                                  string // "" where it is not known
	UserAgent, Referer, Country, Device *string
}

// source is what brought a visitor, and the visitor's referral if one is live.
type source struct {
	programID, partnerID string
	linkID, referralID   string // "" for none
	cookieDays           int64
}

// Click records a visit that the merchant's server saw. The value is resolved as
// the browser script does it: handles of partners first, then values of links. A
// visitor has at most one live referral with a partner, which every further click
// joins (decisions, 65 and 68).
func (s Service) Click(ctx context.Context, u *work.Unit, programID, value string, v Visit) (db.Click, error) {
	var p db.Program
	var hit db.TrackingResolveRow
	errs := u.Each(ctx,
		func(tx pgtx.DBTX) (err error) {
			p, err = queries.ProgramGet(ctx, tx, db.ProgramGetParams{ID: programID, OrgID: u.OrgID})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			hit, err = queries.TrackingResolve(ctx, tx, db.TrackingResolveParams{
				ProgramID: programID, OrgID: u.OrgID, Value: strings.ToLower(value),
				LandingKey: destinationKey(v.LandingURL), Visitor: secret.HashToken(v.VisitorToken), Now: u.Now,
			})
			return err
		})
	if err := work.Found(errs[0], "program_id"); err != nil {
		return db.Click{}, err
	}
	if p.Status == db.ProgramStatusPaused {
		return db.Click{}, problem.New(problem.ProgramPaused, "The program is paused; it takes no new clicks.")
	}
	if err := work.IgnoreNoRows(errs[1]); err != nil {
		return db.Click{}, err
	}
	if errs[1] != nil {
		return db.Click{}, problem.On("value", problem.TrackingValueNotFound,
			"value is neither a handle of an active partner nor a link value of this program.")
	}
	return s.record(ctx, u, source{p.ID, hit.PartnerID, hit.LinkID, hit.ReferralID, p.CookieDays}, v)
}

// record writes a click, and opens a referral for a visitor without a live one.
func (s Service) record(ctx context.Context, u *work.Unit, from source, v Visit) (db.Click, error) {
	if from.referralID == "" {
		opened, err := open(ctx, u, from, v)
		if err != nil {
			return db.Click{}, err
		}
		from.referralID = opened
	}
	click := db.Click{
		ID: ident.New(ident.Click), OrgID: u.OrgID, ProgramID: from.programID, PartnerID: from.partnerID,
		LinkID: opt.OrNil(from.linkID), ReferralID: &from.referralID, Param: cmp.Or(v.Param, defaultParam),
		UserAgent: v.UserAgent, Referer: v.Referer, Country: v.Country, Device: v.Device,
		LandingURL: &v.LandingURL, CreatedAt: u.Now,
	}
	// Only a keyed hash of the address is stored, one that differs by program.
	if risk.Identifies(v.IP) {
		click.IPHash = s.Keeper.HashIP(from.programID, v.IP)
	}
	if err := risk.CheckClick(ctx, u, from.programID, from.partnerID, v.LandingURL, v.Query); err != nil {
		return click, err
	}
	return click, queries.ClickInsert(ctx, u.Later(), db.ClickInsertParams(click))
}
