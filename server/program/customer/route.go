package customer

import (
	"context"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/money/report"
	"rail/server/problem"
	"rail/server/program/tracking"
	"rail/server/work"
	"rail/server/work/auditlog"
)

// GiveBack gives a customer who has not paid yet to the partner of an earlier click, and
// reports whether that partner takes it (decisions, 318).
func (s Service) GiveBack(ctx context.Context, u *work.Unit, id, clickID string, at clock.Time) (bool, error) {
	k, err := Lock(ctx, u, id)
	if err != nil {
		return false, err
	}
	before := k.PartnerID
	k, err = s.reroute(ctx, u, k, tracking.Route{ClickID: &clickID, At: at})
	return err == nil && *k.PartnerID != *before, skipUnfit(err)
}

// TakeOver gives a customer whom a link brought, and who has not paid yet, to the partner of
// a coupon, in a program where coupons count before links (decisions, 317). A coupon that
// does not fit changes nothing.
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

// reroute gives a locked customer to the partner to whom another route leads. The referral
// that it had is a visit again.
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
	k.ReferralID, k.LinkID, k.CouponID, k.ClickID = nil, nil, nil, nil
	a.Apply(&k)
	k.Attribution, k.UpdatedAt = attributed(r, a).At(u.Now), u.Now
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

// skipUnfit returns nil for a route that does not fit: also one to the customer itself, which
// has opened a flag.
func skipUnfit(err error) error {
	if Unfit(err) || problem.Is(err, problem.SelfReferralBlocked) {
		return nil
	}
	return err
}
