package customer

import (
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

// LateClick flags the partner of a click shortly before a customer's first payment, and reports whether the customer
// returned to the partner of the earlier click (decisions, 318).
func (s Service) LateClick(
	ctx context.Context, u *work.Unit, k db.Customer, click db.ClickLateRow, paidAt clock.Time, back bool,
) (bool, error) {
	err := risk.FlagLateClick(ctx, u, k.ProgramID, k.ID, click, paidAt)
	if err != nil || !back {
		return false, err
	}
	return s.giveBack(ctx, u, k.ID, click.EarlierClickID, paidAt)
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
		if err != nil || !p.CouponBeatsLink {
			return k, err
		}
		if k, err = Lock(ctx, u, k.ID); err != nil || k.ConvertedAt != nil || k.TrackedBy != db.TrackedByLink {
			return k, err
		}
		moved, err := s.reroute(ctx, u, k, r)
		if skipUnfit(err) != nil || err == nil {
			return moved, err
		}
	}
	return k, nil
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
	own, err := s.addresses(a.Partner)
	if err != nil {
		return k, err
	}
	if err := a.Validate(ctx, u, p, isOwn(own, k.Email, k.Identifier)); err != nil {
		return k, err
	}
	if err := report.TouchCustomer(ctx, u, k); err != nil {
		return k, err
	}
	before := k
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
