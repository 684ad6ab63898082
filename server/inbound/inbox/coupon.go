package inbox

import (
	"context"

	"rail/gen/db"
	"rail/server/inbound/processor"
	"rail/server/program/tracking"
	"rail/server/work"
)

// coupon applies a processor's report on a code, or on the end of the discount behind codes. It is retried when
// such a code is registered, or turns out to belong to this discount.
func (a *application) coupon(ctx context.Context, c processor.Coupon) (outcome, error) {
	rows, err := queries.CouponsOf(ctx, a.u.DB(), db.CouponsOfParams{
		ProgramID: a.e.ProgramID, OrgID: a.e.OrgID, ExternalID: c.ID,
	})
	o := ignored(string(processor.NotUsed), "No coupon of the program has this external_id.")
	// A recorded change stays recorded, however often the event is processed.
	if a.e.ProcessedAt != nil && a.e.ReasonCode == nil {
		o = o.recorded()
	}
	for _, k := range rows {
		to := tracking.CouponState{Active: c.Active, Parent: c.Parent, At: a.r.At}
		changed, err := tracking.SetCouponState(ctx, a.u, k.ID, to)
		switch {
		case err != nil:
			return o, err
		case changed:
			o = o.recorded()
		case o.code != "":
			o.reason = "The coupon already has this state, or a later one."
		}
	}
	o.keys = []string{work.CouponKey(c.ID)}
	return o, err
}
