package handlers

import (
	"context"

	"rail/gen/db"
	"rail/gen/events"
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
	told := events.AffiliateCouponDeactivated
	if active {
		told = events.AffiliateCouponActivated
	}
	recordCoupon(u, told, coupon)
	return queries.CouponSetActive(ctx, u.Later(), db.CouponSetActiveParams{Active: active, UpdatedAt: u.Now, ID: coupon.ID, OrgID: coupon.OrgID})
}
