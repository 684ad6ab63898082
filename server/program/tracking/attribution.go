package tracking

import (
	"cmp"
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/clock"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/program/risk"
	"rail/server/work"
	"rail/server/work/event"
)

// Route is a customer's way to a partner: exactly one of its members is set. Only payment processors name a
// referral, or a coupon by its id: a coupon used for a payment counts even if it has been turned off, as after
// its last use.
type Route struct {
	PartnerID, ClickID, CouponCode, CouponID, ReferralID *string
	Agent                                                *Agent
	// At is when the customer came; a referral must not have expired by then. Zero means now. Processors' events may
	// be read long after.
	At clock.Time
}

// Agent is the route of an AI assistant's claim: a partner, and a link if the claim names one. Detail is the token's
// nonce, or the name of the partner in the claim.
type Agent struct {
	PartnerID string
	LinkID    *string
	Detail    string
}

// at returns when the customer came.
func (r Route) at(u *work.Unit) clock.Time {
	if r.At.IsZero() || r.At.After(u.Now.Time) {
		return u.Now
	}
	return r.At
}

// IsSet reports whether the request has any route.
func (r Route) IsSet() bool {
	return r.PartnerID != nil || r.ClickID != nil || r.CouponCode != nil || r.CouponID != nil ||
		r.ReferralID != nil || r.Agent != nil
}

// Coupon reports whether the route is a coupon.
func (r Route) Coupon() bool { return r.CouponCode != nil || r.CouponID != nil }

// Members returns the routes under their names in a request.
func (r Route) Members() []work.Member {
	return []work.Member{{Name: "partner_id", Value: r.PartnerID}, {Name: "click_id", Value: r.ClickID},
		{Name: "coupon_code", Value: r.CouponCode}, {Name: "coupon_id", Value: r.CouponID},
		{Name: "referral_id", Value: r.ReferralID}}
}

// Validate requires exactly one route (decisions, 83 and 230).
func (r Route) Validate() error {
	if !r.IsSet() {
		return problem.On("partner_id", problem.ParameterMissing,
			"One of partner_id, click_id and coupon_code is required.")
	}
	return work.AtMostOne(r.Members()...)
}

// Attribution is a customer's partner, and the route to it. Attribute reads it, Validate decides whether it is
// allowed, Apply and Lead write it.
type Attribution struct {
	Partner  db.Partner
	Click    *db.Click    // nil for other routes
	Referral *db.Referral // of the click, locked; nil if it was deleted
	CouponID *string
	at       clock.Time
	param    string // the request's field with the route
	named    string // the referral named by the route; "" for none
	agent    *Agent
	origin   *db.Click // the last click of that referral; nil for none
}

// Attribute reads the partner of a route and, for a click, the click and its referral, which it locks. The reads
// that also returns, about that partner, share the round trip.
func Attribute(
	ctx context.Context, u *work.Unit, p db.Program, r Route, also ...func(partnerID string) pgtx.Read,
) (Attribution, error) {
	a := Attribution{param: "partner_id", at: r.at(u)}
	partnerID := opt.Value(r.PartnerID)
	if r.ClickID != nil {
		a.param = "click_id"
		click, err := queries.ClickGet(ctx, u.DB(), db.ClickGetParams{ID: *r.ClickID, OrgID: u.OrgID})
		if err != nil {
			return a, work.Found(err, a.param)
		}
		if click, err = standingClick(ctx, u, p, click, a.at); err != nil {
			return a, err
		}
		// A click of another program gives a partner of that program, whom Validate refuses.
		a.Click, partnerID = &click, click.PartnerID
	}
	if r.CouponCode != nil || r.CouponID != nil {
		a.param = "coupon_code"
		coupon, err := creditedCoupon(ctx, u, p.ID, r)
		if err != nil {
			return a, err
		}
		a.CouponID, partnerID = &coupon.ID, *coupon.PartnerID
	}
	if r.ReferralID != nil {
		a.param = "referral_id"
		referral, err := queries.ReferralGet(ctx, u.DB(), db.ReferralGetParams{ID: *r.ReferralID, OrgID: u.OrgID})
		if err != nil {
			return a, work.Found(err, a.param)
		}
		a.named, partnerID = referral.ID, referral.PartnerID
	}
	if r.Agent != nil {
		a.param, a.agent, partnerID = "affiliate_attribution", r.Agent, r.Agent.PartnerID
	}
	var referral db.Referral
	reads := []pgtx.Read{
		func(tx pgtx.DBTX) (err error) {
			a.Partner, err = queries.PartnerGet(ctx, tx, db.PartnerGetParams{ID: partnerID, OrgID: u.OrgID})
			return err
		},
	}
	for _, read := range also {
		reads = append(reads, read(partnerID))
	}
	if a.named != "" {
		reads = append(reads, a.readOrigin(ctx, u))
	}
	// The referral is locked so that only one customer makes it a lead. It is read last, and "no row" leaves the
	// attribution without a referral.
	errs := u.Each(ctx, append(reads, func(tx pgtx.DBTX) (err error) {
		referral, err = queries.ReferralLock(ctx, tx, db.ReferralLockParams{ID: a.referralID(), OrgID: u.OrgID})
		return err
	})...)
	if err := work.Found(errs[0], a.param); err != nil {
		return a, err
	}
	if err := pgtx.First(errs); err != nil {
		return a, err
	}
	if errs[len(errs)-1] == nil {
		a.Referral = &referral
	}
	return a, nil
}

// readOrigin returns the read of the last click of the named referral until the customer came.
func (a *Attribution) readOrigin(ctx context.Context, u *work.Unit) pgtx.Read {
	return func(tx pgtx.DBTX) error {
		click, err := queries.ClickLast(ctx, tx, db.ClickLastParams{ReferralID: &a.named, OrgID: u.OrgID, At: a.at})
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return nil
		case err == nil:
			a.origin = &click
		}
		return err
	}
}

// creditedCoupon returns a coupon that can attribute a customer. An unknown code and a code that the processor
// no longer accepts get the same 404. A coupon for a whole group credits no partner.
func creditedCoupon(ctx context.Context, u *work.Unit, programID string, r Route) (coupon db.Coupon, err error) {
	if r.CouponID != nil {
		coupon, err = queries.CouponGet(ctx, u.DB(), db.CouponGetParams{ID: *r.CouponID, OrgID: u.OrgID})
	} else {
		coupon, err = couponByCode(ctx, u, programID, *r.CouponCode)
	}
	switch {
	case err != nil:
		return coupon, work.Found(err, "coupon_code")
	case !coupon.Active && r.CouponID == nil:
		return coupon, problem.NotFound("coupon_code")
	case coupon.PartnerID == nil:
		return coupon, problem.On("coupon_code", problem.InvalidReference, "The coupon has no partner.")
	}
	return coupon, nil
}

// referralID returns the referral that the route names or that the click opened, or "", for which a read finds
// no row.
func (a Attribution) referralID() string {
	if a.Click == nil {
		return a.named
	}
	return opt.Value(a.Click.ReferralID)
}

// Country returns the country of the click, nil if unknown.
func (a Attribution) Country() *string {
	if a.Click == nil {
		return nil
	}
	return a.Click.Country
}

// CheckPartner refuses partners of other programs and partners that are not active. param names the partner in the
// request.
func CheckPartner(p db.Partner, programID, param string) error {
	if err := work.SameProgram(p.ProgramID, programID, param); err != nil {
		return err
	}
	if p.Status != db.PartnerStatusActive {
		return problem.On(param, problem.PartnerNotActive, "The partner is %s; only active partners get customers.", p.Status)
	}
	return nil
}

// Validate refuses an attribution to a partner of another program, to an inactive partner, by an expired
// referral, or of the partner itself.
func (a Attribution) Validate(ctx context.Context, u *work.Unit, p db.Program, self bool) error {
	if err := CheckPartner(a.Partner, p.ID, a.param); err != nil {
		return err
	}
	if a.Referral != nil && !a.Referral.ExpiresAt.After(a.at.Time) {
		return problem.On("click_id", problem.ReferralExpired,
			"The referral of this click expired at %s.", a.Referral.ExpiresAt)
	}
	return a.refuseSelf(ctx, u, p, self)
}

// refuseSelf refuses a customer that is the partner itself if the program blocks self-referrals. Unlike other
// refusals, this one is committed: the referral is deleted and a risk flag opens (decisions, 66 and 216). In
// other programs, the flag opens with the customer.
func (a Attribution) refuseSelf(ctx context.Context, u *work.Unit, p db.Program, self bool) error {
	if !self || !p.BlockSelfReferrals {
		return nil
	}
	if u.Plan.FraudMonitoring {
		if err := risk.FlagSelfReferral(ctx, u, a.Partner, nil); err != nil {
			return err
		}
	}
	if err := a.dropReferral(ctx, u); err != nil {
		return err
	}
	e := problem.On("email", problem.SelfReferralBlocked,
		"The customer's email is the partner's own, and the program blocks self-referrals.")
	e.Committed = true
	return e
}

// dropReferral deletes the referral, unless it has a customer. Its clicks stay.
func (a Attribution) dropReferral(ctx context.Context, u *work.Unit) error {
	if a.Referral == nil || a.Referral.Status != db.ReferralStatusVisit {
		return nil
	}
	detach := db.ReferralDetachClicksParams{ReferralID: &a.Referral.ID, OrgID: u.OrgID}
	if err := queries.ReferralDetachClicks(ctx, u.Later(), detach); err != nil {
		return err
	}
	u.Record(event.Subject{ProgramID: a.Partner.ProgramID, PartnerID: a.Partner.ID, ID: a.Referral.ID},
		events.ReferralDeleted(api.ReferralDeletedData{
			ReferralID: a.Referral.ID, PartnerID: a.Partner.ID, Reason: "self_referral",
		}))
	return queries.ReferralDelete(ctx, u.Later(), db.ReferralDeleteParams{ID: a.Referral.ID, OrgID: u.OrgID})
}

// Apply sets the partner, the route and, from its click, the origin in a customer (decisions, 316).
func (a Attribution) Apply(k *db.Customer) {
	k.PartnerID, k.CouponID, k.TrackedBy = &a.Partner.ID, a.CouponID, db.TrackedByAPI
	switch {
	case a.Click != nil:
		k.TrackedBy, k.ClickID, k.LinkID = db.TrackedByLink, &a.Click.ID, a.Click.LinkID
	case a.Referral != nil:
		k.TrackedBy = db.TrackedByLink
	case a.CouponID != nil:
		k.TrackedBy = db.TrackedByCoupon
	case a.agent != nil:
		k.TrackedBy, k.LinkID = db.TrackedByAgent, a.agent.LinkID
	}
	if a.Referral != nil {
		k.ReferralID, k.LinkID = &a.Referral.ID, a.Referral.LinkID
	}
	origin := cmp.Or(a.Click, a.origin, &db.Click{})
	k.Source, k.Medium, k.Campaign, k.Referrer = origin.Source, origin.Medium, origin.Campaign, origin.Referrer
	k.Country, k.Device = origin.Country, origin.Device
}

// Lead makes the visit of a new customer a lead, once (decisions, 72).
func (a Attribution) Lead(ctx context.Context, u *work.Unit, k db.Customer) error {
	if a.Referral == nil || a.Referral.Status != db.ReferralStatusVisit {
		return nil
	}
	u.Record(event.Subject{ProgramID: k.ProgramID, PartnerID: a.Partner.ID, ID: a.Referral.ID},
		events.ReferralLead(api.ReferralLeadData{
			ReferralID: a.Referral.ID, CustomerID: k.ID, PartnerID: a.Partner.ID, Email: k.Email,
			TrackedBy: api.TrackedBy(k.TrackedBy),
		}))
	return queries.ReferralSetStatus(ctx, u.Later(), db.ReferralSetStatusParams{
		Status: db.ReferralStatusLead, UpdatedAt: u.Now, ID: a.Referral.ID, OrgID: k.OrgID,
	})
}
