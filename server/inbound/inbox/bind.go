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

// binding applies an event about a customer without money: it finds or signs up the customer, and follows the
// state of the subscription.
func (a *application) binding(ctx context.Context, b processor.Binding) (outcome, error) {
	if end, err := a.optedOut(ctx, processor.Link{}, b.Customer); err != nil || end != nil {
		return opt.Value(end), err
	}
	o := a.nothing()
	k, end, err := payer{a, b}.find(ctx)
	switch {
	case err != nil || end != nil:
		return opt.Value(end), err
	case k.ID == "":
		// Another event may identify the customer a moment later, and then this state applies.
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

// leads lists, for each subscription state, the customer states that it may replace. Events come in any order: a
// paying customer does not return to a trial, and a cancelled one returns by paying.
var leads = map[string][]db.CustomerStatus{
	"trial":     {db.CustomerStatusLead},
	"active":    {db.CustomerStatusLead, db.CustomerStatusTrial},
	"cancelled": {db.CustomerStatusLead, db.CustomerStatusTrial, db.CustomerStatusActive},
}

// follow sets a customer's state from the subscription, and reports whether it changed.
func (a *application) follow(ctx context.Context, k bound, status string) (bool, error) {
	if !slices.Contains(leads[status], k.Status) {
		return false, nil
	}
	_, err := a.Customers.Update(ctx, a.u, k.ID, customer.Changes{Status: &status})
	return err == nil, err
}

// subscribed stores the subscription that a customer tries or pays for.
func (a *application) subscribed(ctx context.Context, id string, b processor.Binding) error {
	if b.Subscription == "" || b.Status == "cancelled" {
		return nil
	}
	return queries.CustomerSubscribed(ctx, a.u.Later(), db.CustomerSubscribedParams{
		ExternalSubscriptionID: b.Subscription, UpdatedAt: a.u.Now, ID: id, OrgID: a.e.OrgID,
	})
}

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
