package customer

import (
	"bytes"
	"context"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/money/report"
	"rail/server/problem"
	"rail/server/program/risk"
	"rail/server/program/tracking"
	"rail/server/work"
	"rail/server/work/auditlog"
)

// LateClick flags the partner of a click shortly before a customer's first payment. If back is set, it returns a
// customer of that partner to the partner of the earlier click, and reports whether it did (decisions, 318).
func (s Service) LateClick(
	ctx context.Context, u *work.Unit, k db.Customer, paidAt clock.Time, back bool,
) (bool, error) {
	late, earlier, found, err := tracking.LateClick(ctx, u, *k.ReferralID, paidAt)
	if err != nil || !found {
		return false, err
	}
	err = risk.FlagLateClick(ctx, u, k.ProgramID, k.ID, risk.Late{
		ClickID: late.ClickID, PartnerID: late.PartnerID, At: late.At,
		EarlierClickID: earlier.ClickID, EarlierPartnerID: earlier.PartnerID,
	}, paidAt)
	if err != nil || !back || late.PartnerID != *k.PartnerID {
		return false, err
	}
	return s.giveBack(ctx, u, k.ID, earlier.ClickID, paidAt)
}

// giveBack reassigns a customer who has not paid yet to the partner of an earlier click, and reports whether
// that partner may have it.
func (s Service) giveBack(ctx context.Context, u *work.Unit, id, clickID string, at clock.Time) (bool, error) {
	k, err := Lock(ctx, u, id)
	if err != nil {
		return false, err
	}
	before := k.PartnerID
	k, err = s.reroute(ctx, u, k, tracking.Route{ClickID: &clickID, At: at})
	return err == nil && *k.PartnerID != *before, skipUnfit(err)
}

// TakeOver reassigns a customer who came by a link and has not paid yet to the partner of a coupon, if coupons
// precede links in the program (decisions, 317). A coupon that does not fit changes nothing.
func (s Service) TakeOver(
	ctx context.Context, u *work.Unit, k db.Customer, routes ...tracking.Route,
) (db.Customer, error) {
	if k.PartnerID == nil || k.ConvertedAt != nil || k.TrackedBy != db.TrackedByLink {
		return k, nil
	}
	for _, r := range routes {
		if !r.Coupon() {
			continue
		}
		p, err := u.Program(ctx, k.ProgramID)
		if err != nil {
			return k, err
		}
		if !p.CouponBeatsLink {
			return s.noteCoupons(ctx, u, k, routes)
		}
		if k, err = Lock(ctx, u, k.ID); err != nil || k.ConvertedAt != nil || k.TrackedBy != db.TrackedByLink {
			return k, err
		}
		moved, err := s.reroute(ctx, u, k, r)
		if err == nil && *moved.PartnerID == *k.PartnerID { // the coupon is of the link's partner
			return s.noteCoupons(ctx, u, moved, []tracking.Route{r})
		}
		if skipUnfit(err) != nil || err == nil {
			return moved, err
		}
	}
	return k, nil
}

// noteCoupons stores the coupons of a first payment that do not take over its customer, for rehearsals.
func (s Service) noteCoupons(
	ctx context.Context, u *work.Unit, k db.Customer, routes []tracking.Route,
) (db.Customer, error) {
	k, err := Lock(ctx, u, k.ID)
	if err != nil || k.ConvertedAt != nil || k.TrackedBy != db.TrackedByLink {
		return k, err
	}
	other, err := otherRoutesOf(k)
	if err != nil {
		return k, err
	}
	for _, r := range routes {
		id, err := tracking.CouponOf(ctx, u, k.ProgramID, r)
		if err != nil {
			return k, err
		}
		if id != "" {
			other.AddPaid(id)
		}
	}
	before := k.OtherRoutes
	if err := storeOtherRoutes(&k, other); err != nil || bytes.Equal(before, k.OtherRoutes) {
		return k, err
	}
	return k, update(ctx, u.DB(), k) // at once: a payment follows
}

// reroute assigns a locked customer to the partner of another route. Its previous referral becomes a visit
// again.
func (s Service) reroute(ctx context.Context, u *work.Unit, k db.Customer, r tracking.Route) (db.Customer, error) {
	p, err := u.Program(ctx, k.ProgramID)
	if err != nil {
		return k, err
	}
	a, err := tracking.Attribute(ctx, u, p, r)
	if err != nil || a.Partner.ID == *k.PartnerID {
		return k, err
	}
	own, err := s.Addresses(a.Partner)
	if err != nil {
		return k, err
	}
	if err := a.Validate(ctx, u, p, IsOwn(own, k.Email, k.Identifier)); err != nil {
		return k, err
	}
	if err := report.TouchCustomer(ctx, u, k); err != nil {
		return k, err
	}
	before := k
	if err := noteVisit(&k, a.CouponID); err != nil {
		return k, err
	}
	clearRoute(&k)
	a.Apply(&k)
	k.Attribution, k.UpdatedAt = ruleOf(r, a).At(u.Now), u.Now
	if err := s.judge(ctx, u, &k, before, ""); err != nil {
		return k, err
	}
	if err := a.Lead(ctx, u, k); err != nil {
		return k, err
	}
	if before.ReferralID != nil {
		back := db.ReferralReleaseParams{UpdatedAt: u.Now, ID: *before.ReferralID, OrgID: k.OrgID, CustomerID: k.ID}
		if err := queries.ReferralRelease(ctx, u.Later(), back); err != nil {
			return k, err
		}
	}
	if err := update(ctx, u.DB(), k); err != nil { // at once: a payment follows
		return k, err
	}
	return k, auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: k.ProgramID, Action: "customer.reassigned", TargetID: k.ID,
		Before: map[string]any{"partner_id": before.PartnerID}, After: map[string]any{"partner_id": k.PartnerID},
	})
}

// skipUnfit returns nil for a route that does not fit, including one to the customer itself, which has opened a
// flag.
func skipUnfit(err error) error {
	if Unfit(err) || problem.Is(err, problem.SelfReferralBlocked) {
		return nil
	}
	return err
}
