package inbox

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/ident"
	"rail/server/inbound/processor"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/program/customer"
	"rail/server/program/tracking"
	"rail/server/work"
)

// payer finds the customer whom an event describes.
type payer struct {
	*application
	b processor.Binding
}

// payerResult is the paying customer; id is empty if there is none. end is set if the event ends without
// recording the payment.
type payerResult struct {
	id  string
	end *outcome
}

// keysOf returns the keys under which an explanation of the payer may appear.
func keysOf(b processor.Binding) []string {
	var keys []string
	add := func(value string, key func(string) string) {
		if value != "" {
			keys = append(keys, key(value))
		}
	}
	add(b.Customer, work.CustomerKey)
	add(b.Identifier, work.IdentifierKey)
	add(strings.ToLower(b.Email), work.EmailKey)
	for _, id := range b.Coupon {
		add(id, work.CouponKey)
	}
	return keys
}

// customerKeys returns the sorted keys of every name of a customer.
func customerKeys(b processor.Binding) []string {
	b.Identifier = customer.Clues{ExternalID: b.Customer, Identifier: b.Identifier, Email: b.Email}.Own()
	b.Coupon = nil // many customers share it
	return slices.Sorted(slices.Values(keysOf(b)))
}

// findPayer finds the paying customer, or signs them up if the event has a route to a partner (decisions, 302). A
// payment without a partner waits for its checkout.
func (a *application) findPayer(ctx context.Context, p processor.Payment) (payerResult, error) {
	by := payer{a, p.Binding}
	k, end, err := by.find(ctx)
	switch {
	case err != nil || end != nil:
		return payerResult{end: end}, err
	case k.ID != "" && k.PartnerID != nil:
		return by.takenOver(ctx, k)
	case k.ID == "" && !a.c.RecordDirect:
		return payerResult{}, nil
	}
	if end, err := a.early(ctx, p); err != nil || end != nil || k.ID != "" {
		return payerResult{id: k.ID, end: end}, err
	}
	return by.direct(ctx)
}

// takenOver applies takeover by a coupon at the first payment, from a link's partner to the coupon's.
func (a payer) takenOver(ctx context.Context, k payerMatch) (payerResult, error) {
	if len(a.b.Coupon) == 0 || k.ConvertedAt != nil {
		return payerResult{id: k.ID}, nil
	}
	coupons, err := a.coupons(ctx)
	if err != nil {
		return payerResult{}, err
	}
	_, err = a.Customers.TakeOver(ctx, a.u, k.Customer, coupons...)
	end, err := refusal(err)
	return payerResult{id: k.ID, end: end}, err
}

// payerMatch is a customer, and whether the event changed it.
type payerMatch struct {
	db.Customer
	changed bool
}

// find returns the event's customer. An unknown customer is signed up only if the event has a route to a
// partner; a customer without a partner gets the partner of such a route.
func (a payer) find(ctx context.Context) (payerMatch, *outcome, error) {
	k, err := a.lockByExternalID(ctx)
	if err != nil {
		return payerMatch{}, nil, err
	}
	if a.b, err = a.withEarlier(ctx, k); err != nil {
		return payerMatch{}, nil, err
	}
	clues, err := a.clues(ctx)
	if err != nil {
		return payerMatch{}, nil, err
	}
	before := k
	if k.ID == "" {
		f, err := a.Customers.Identify(ctx, a.u, clues)
		if end, err := refusal(err); err != nil || end != nil {
			return payerMatch{}, end, err
		}
		k = f.Customer
	} else {
		rule := customer.Rule{Rule: api.AttributionRuleKnownCustomer, Detail: a.b.Customer}
		if k, err = a.Customers.FillIn(ctx, a.u, k, clues, rule); err != nil {
			return payerMatch{}, nil, err
		}
	}
	if k.ID == "" || k.PartnerID != nil {
		return payerMatch{k, !reflect.DeepEqual(before, k)}, nil, nil
	}
	k, changed, err := a.attribute(ctx, k, clues.Routes)
	return payerMatch{k, changed || !reflect.DeepEqual(before, k)}, nil, err
}

// refusal returns the outcome of an event whose customer may not have its partner; a flag opened by the refusal
// stays.
func refusal(err error) (*outcome, error) {
	var refused *problem.Error
	if errors.As(err, &refused) && refused.Committed {
		return new(ignored(string(refused.Code), refused.Message)), nil
	}
	return nil, err
}

// attribute assigns a customer without a partner to the partner of the first valid route, and reports whether
// there is one: a payment recorded without a partner may precede its checkout.
func (a payer) attribute(
	ctx context.Context, k db.Customer, routes []tracking.Route,
) (db.Customer, bool, error) {
	for _, r := range routes {
		r.At = a.r.At
		assigned, err := a.Customers.Assign(ctx, a.u, k.ID, r)
		if end, err := refusal(err); end == nil && !customer.Unfit(err) {
			return assigned, err == nil, err
		}
	}
	return k, false, nil
}

// clues returns the customer's ids, email, name and routes from an event.
func (a payer) clues(ctx context.Context) (customer.Clues, error) {
	routes, err := a.routes(ctx)
	b := a.b
	return customer.Clues{
		ProgramID: a.e.ProgramID, ExternalID: b.Customer, Identifier: b.Identifier, Email: b.Email, Name: b.Name,
		Routes: routes, Processor: a.c.Processor, At: a.r.At,
	}, err
}

// routes returns the event's routes to partners: its visit, then its coupons.
func (a payer) routes(ctx context.Context) (all []tracking.Route, err error) {
	switch {
	case ident.Has(a.b.Click, ident.Click):
		all = append(all, tracking.Route{ClickID: &a.b.Click})
	case ident.Has(a.b.Referral, ident.Referral):
		all = append(all, tracking.Route{ReferralID: &a.b.Referral})
	}
	coupons, err := a.coupons(ctx)
	return append(all, coupons...), err
}

// lockByExternalID returns the customer with the id at the processor. It locks every name of the customer: two
// first events of one must not both sign it up.
func (a payer) lockByExternalID(ctx context.Context) (db.Customer, error) {
	b, keys := a.b, customerKeys(a.b)
	if b.Customer == "" {
		return db.Customer{}, a.lock(ctx, keys)
	}
	var k db.Customer
	err := a.lock(ctx, keys, func(tx pgtx.DBTX) (err error) {
		k, err = queries.CustomerByExternalID(ctx, tx, db.CustomerByExternalIDParams{
			ProgramID: a.e.ProgramID, OrgID: a.e.OrgID, ExternalCustomerID: b.Customer,
		})
		return err
	})
	return k, err
}

// maxEarlier bounds how many earlier events of one customer are read.
const maxEarlier = 10

// withEarlier adds the email, name and identifier of earlier events about the customer to an event without an
// email. Such events wait until the customer exists, and the checks of a sign-up, which run before the payment,
// need the email.
func (a payer) withEarlier(ctx context.Context, k db.Customer) (processor.Binding, error) {
	b := a.b
	if b.Customer == "" || b.Email != "" || k.Email != nil {
		return b, nil
	}
	var events []db.InboxEventsWaitingForRow
	err := a.u.Read(ctx, func(tx pgtx.DBTX) (err error) {
		events, err = queries.InboxEventsWaitingFor(ctx, tx, db.InboxEventsWaitingForParams{
			ProgramID: a.e.ProgramID, OrgID: a.e.OrgID, ConnectionID: a.e.ConnectionID, Key: work.CustomerKey(b.Customer),
			Lim: maxEarlier,
		})
		return err
	})
	if err != nil {
		return b, err
	}
	for _, e := range events {
		body, err := a.Keeper.Open(e.Payload, PayloadPlace(e.ID))
		if err != nil {
			return b, err
		}
		if earlier := opt.Value(parse(a.c.Processor, body).r.Binding); earlier.Customer == b.Customer {
			b.Email, b.Name = cmp.Or(b.Email, earlier.Email), cmp.Or(b.Name, earlier.Name)
			b.Identifier = cmp.Or(b.Identifier, earlier.Identifier)
		}
	}
	return b, nil
}

// coupons returns routes by coupons, the closest to the payment first, in the order of the processor's package.
// A coupon is found by its id at the processor, never by its code.
func (a payer) coupons(ctx context.Context) (all []tracking.Route, err error) {
	if len(a.b.Coupon) == 0 {
		return nil, nil
	}
	coupons, err := queries.CouponByExternalIDs(ctx, a.u.DB(), db.CouponByExternalIDsParams{
		ProgramID: a.e.ProgramID, OrgID: a.e.OrgID, ExternalIds: a.b.Coupon,
	})
	for _, id := range a.b.Coupon {
		at := slices.IndexFunc(coupons, func(k db.Coupon) bool { return opt.Value(k.ExternalID) == id && k.PartnerID != nil })
		if at >= 0 {
			all = append(all, tracking.Route{CouponID: &coupons[at].ID})
		}
	}
	return all, err
}

// direct signs up a customer without a partner.
func (a payer) direct(ctx context.Context) (payerResult, error) {
	b := a.b
	clues := customer.Clues{ExternalID: b.Customer, Identifier: b.Identifier, Email: b.Email}
	routes, err := a.routes(ctx)
	if err != nil {
		return payerResult{}, err
	}
	k, err := a.Customers.Direct(ctx, a.u, customer.Input{
		ProgramID: a.e.ProgramID, ExternalCustomerID: opt.OrNil(b.Customer), Email: opt.OrNil(b.Email),
		Name:       opt.OrNil(b.Name),
		Identifier: opt.OrNil(clues.Own()), Processor: a.c.Processor, Route: tracking.Route{At: a.r.At}, Others: routes,
	})
	return payerResult{id: k.ID}, err
}
