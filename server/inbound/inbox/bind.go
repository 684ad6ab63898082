package inbox

import (
	"context"
	"slices"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/inbound/processor"
	"rail/server/opt"
	"rail/server/program/customer"
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
	changed, err := a.follow(ctx, k, b)
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

// allowedStatuses lists, for each subscription state, the customer states that it may replace. Events come in any
// order: a paying customer does not return to a trial, and a cancelled one returns by paying.
var allowedStatuses = map[string][]db.CustomerStatus{
	"trial":     {db.CustomerStatusLead},
	"active":    {db.CustomerStatusLead, db.CustomerStatusTrial},
	"cancelled": {db.CustomerStatusLead, db.CustomerStatusTrial, db.CustomerStatusActive},
}

// follow sets a customer's state from the subscription, and reports whether it changed. The end of a subscription
// that another one has replaced changes nothing.
func (a *application) follow(ctx context.Context, k payerMatch, b processor.Binding) (bool, error) {
	current := opt.Value(k.ExternalSubscriptionID)
	replaced := b.Subscription != "" && current != "" && b.Subscription != current
	if !slices.Contains(allowedStatuses[b.Status], k.Status) || replaced && b.Status == "cancelled" {
		return false, nil
	}
	_, err := a.Customers.Update(ctx, a.u, k.ID, customer.Changes{Status: &b.Status})
	return err == nil, err
}

// subscribed stores the subscription that a customer tries or pays for.
func (a *application) subscribed(ctx context.Context, id string, b processor.Binding) error {
	if b.Subscription == "" || b.Status == "cancelled" {
		return nil
	}
	return queries.CustomerSetSubscription(ctx, a.u.Later(), db.CustomerSetSubscriptionParams{
		Ids:             []string{id},
		OrgIds:          []string{a.e.OrgID},
		SubscriptionIds: []string{b.Subscription},
		UpdatedAts:      []clock.Time{a.u.Now},
	})
}
