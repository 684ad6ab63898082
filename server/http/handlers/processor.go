package handlers

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/event"
	"rail/server/ident"
	"rail/server/problem"
	"rail/server/work"
)

// What a payment processor's integration will report, beside payments
// (commission.Record): no operation of the API causes it.

// SetCouponActive records that the processor has turned a code off, or on again
// (decisions, 80). The same state again is no news.
func SetCouponActive(ctx context.Context, u *work.Unit, couponID string, active bool) error {
	coupon, err := lockCoupon(ctx, u, couponID)
	if err != nil || coupon.Active == active {
		return err
	}
	coupon.Active = active
	kind := "affiliate_coupon.deactivated"
	if active {
		kind = "affiliate_coupon.activated"
	}
	recordCoupon(u, kind, coupon)
	return queries.CouponSetActive(ctx, u.Later(), db.CouponSetActiveParams{Active: active, UpdatedAt: u.Now, ID: coupon.ID, OrgID: coupon.OrgID})
}

// EnrolCustomer makes a partner of a customer (decisions, 89), at once active
// and in the default group; affiliate.created tells it, and then
// customer.enrolled_as_partner. A customer without an email, or whose email is a
// partner's, is refused.
func (s *Server) EnrolCustomer(ctx context.Context, u *work.Unit, customerID string) (db.Partner, error) {
	k, err := lockCustomer(ctx, u, customerID)
	if err != nil {
		return db.Partner{}, err
	}
	if k.Email == nil {
		return db.Partner{}, problem.Invalid("customer_id", "The customer has no email.")
	}
	e := admission{programID: k.ProgramID, email: *k.Email}
	if err := s.admit(ctx, u, &e); err != nil {
		return db.Partner{}, err
	}
	p := db.Partner{
		ID: ident.New(ident.Partner), OrgID: k.OrgID, ProgramID: k.ProgramID, GroupID: e.groupID, Email: e.email, FirstName: k.Name, Handle: *e.handle,
		Status: string(api.PartnerCreateStatusActive), CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	if err := enter(ctx, u, p); err != nil {
		return p, err
	}
	u.Record("customer.enrolled_as_partner", event.Subject{ProgramID: p.ProgramID, PartnerID: p.ID, ID: k.ID}, api.CustomerEnrolledAsPartnerData{
		CustomerID: k.ID, PartnerID: p.ID, Handle: p.Handle, Email: p.Email, GroupID: p.GroupID, Source: "auto_enrol",
	})
	return p, nil
}
