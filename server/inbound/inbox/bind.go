package inbox

import (
	"context"
	"slices"

	"rail/gen/db"
	"rail/server/inbound/processor"
	"rail/server/opt"
	"rail/server/program/customer"
	"rail/server/program/tracking"
	"rail/server/work"
)

// binding takes what an event says about a customer beside no money: it finds or
// signs up who that is, and follows the state of their subscription.
func (a *application) binding(ctx context.Context, b processor.Binding) (outcome, error) {
	if end, err := a.optedOut(ctx, processor.Link{}, b.Customer); err != nil || end != nil {
		return opt.Value(end), err
	}
	o := a.nothing()
	k, end, err := a.customerOf(ctx, b)
	switch {
	case err != nil || end != nil:
		return opt.Value(end), err
	case k.ID == "":
		// Whoever it is may be known by another event a moment later, and try or leave then.
		o.keys = keysOf(b)
		return o, nil
	}
	changed, err := a.follow(ctx, k, b.Status)
	if err != nil {
		return o, err
	}
	if err := a.subscribed(ctx, k.ID, b); err != nil {
		return o, err
	}
	if changed || k.changed {
		o = o.recorded()
	}
	o.customer = k.ID
	return o, nil
}

// leads has, for each state that a subscription gives a customer, those from which
// it does. Events come in any order: who has paid does not try any more, and who
// has left comes back by paying.
var leads = map[string][]db.CustomerStatus{
	"trial":     {db.CustomerStatusLead},
	"active":    {db.CustomerStatusLead, db.CustomerStatusTrial},
	"cancelled": {db.CustomerStatusLead, db.CustomerStatusTrial, db.CustomerStatusActive},
}

// follow gives a customer the state of their subscription, and reports whether that
// is another.
func (a *application) follow(ctx context.Context, k bound, status string) (bool, error) {
	if !slices.Contains(leads[status], k.Status) {
		return false, nil
	}
	_, err := a.Customers.Update(ctx, a.u, k.ID, customer.Changes{Status: &status})
	return err == nil, err
}

// subscribed notes the subscription that a customer tries or pays for.
func (a *application) subscribed(ctx context.Context, id string, b processor.Binding) error {
	if b.Subscription == "" || b.Status == "cancelled" {
		return nil
	}
	return queries.CustomerSubscribed(ctx, a.u.Later(), db.CustomerSubscribedParams{
		ExternalSubscriptionID: b.Subscription, UpdatedAt: a.u.Now, ID: id, OrgID: a.e.OrgID,
	})
}

// coupon takes what a processor says of a code, and of the end of what codes take
// their discounts from. It is worked again when such a code is registered, or turns
// out to be of this discount.
func (a *application) coupon(ctx context.Context, c processor.Coupon) (outcome, error) {
	rows, err := queries.CouponsOf(ctx, a.u.DB(), db.CouponsOfParams{
		ProgramID: a.e.ProgramID, OrgID: a.e.OrgID, ExternalID: c.ID,
	})
	o := ignored(string(processor.NotUsed), "No coupon of the program has this external_id.")
	// What it changed stays recorded, however often it is worked.
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
			o.reason = "The coupon is in this state already, or in a later one."
		}
	}
	o.keys = []string{work.CouponKey(c.ID)}
	return o, err
}
