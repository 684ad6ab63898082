package chargebee

import (
	"slices"
	"strings"

	"rail/server/inbound/lenient"
	"rail/server/inbound/processor"
)

// metas returns the merchant's data, custom fields first.
func (m *marked) metas() []lenient.Meta {
	return []lenient.Meta{
		{"rail_click": string(m.Click), "rail_customer": string(m.Merchant), "rail": string(m.Switch)}, m.Meta,
	}
}

// metas returns the data of the subscription and of the customer, the closest to the payment first.
func (r *reader) metas() []lenient.Meta {
	return append(r.Of.Subscription.metas(), r.Of.Customer.metas()...)
}

// binding returns the customer of the event's objects.
func (r *reader) binding() processor.Binding {
	t, in, k, s := r.Of.Transaction, r.Of.Invoice, r.Of.Customer, r.Of.Subscription
	b := processor.Binding{
		Customer:     first(k.ID, t.Customer, s.Customer, in.Customer),
		Email:        string(k.Email),
		Name:         lenient.Clean(strings.TrimSpace(string(k.First + " " + k.Last))),
		Subscription: first(s.ID, t.Subscription, in.Subscription),
		Interval:     processor.Interval(s.Interval),
		Skip:         processor.Skips(k.metas()...),
	}
	b.Describe(r.metas()...)
	r.redeem(&b)
	return b
}

// maxCoupons bounds the coupons of one event, each of which is looked up.
const maxCoupons = 50

// redeem adds the coupons of the invoice and of the subscription. A code of a set is more specific than its
// coupon, which many codes share.
func (r *reader) redeem(b *processor.Binding) {
	var codes, coupons []lenient.ID
	for _, d := range r.Of.Invoice.Discounts {
		if strings.Contains(string(d.Type+d.Entity), "coupon") {
			codes, coupons = append(codes, d.Code), append(coupons, d.ID)
		}
	}
	for _, c := range r.Of.Subscription.Coupons {
		codes, coupons = append(codes, c.Code), append(coupons, c.ID)
	}
	for _, id := range append(append(codes, coupons...), r.Of.Subscription.Coupon) {
		if id != "" && len(b.Coupon) < maxCoupons && !slices.Contains(b.Coupon, string(id)) {
			b.Coupon = append(b.Coupon, string(id))
		}
	}
}

// statuses maps the subscription states that change a customer. A subscription that is not renewed continues to
// its term's end; then it is cancelled.
var statuses = map[lenient.Text]string{"in_trial": "trial", "active": "active", "cancelled": "cancelled"}

func (r *reader) subscription() error {
	b := r.binding()
	b.Status = statuses[r.Of.Subscription.Status]
	if r.Reading.Type == "subscription_deleted" {
		b.Status = "cancelled"
	}
	switch {
	case r.Of.Subscription.ID == "":
		return processor.MalformedError{Member: "content.subscription.id"}
	case processor.Skips(r.metas()...):
		return r.Ignore(processor.OptedOut, "")
	}
	return r.Binds(b, processor.BindsOnly, "")
}

func (r *reader) customer() error {
	b := r.binding()
	b.CustomerOnly = true
	switch {
	case r.Of.Customer.ID == "":
		return processor.MalformedError{Member: "content.customer.id"}
	case b.Skip:
		return r.Binds(b, processor.OptedOut, "")
	}
	return r.Binds(b, processor.BindsOnly, "")
}

// coupon reads whether a coupon is valid. Its id is the code that customers type.
func (r *reader) coupon() error {
	c, deleted := r.Of.Coupon, r.Reading.Type == "coupon_deleted"
	switch {
	case c.ID == "":
		return processor.MalformedError{Member: "content.coupon.id"}
	case c.Status == "" && !deleted:
		return processor.MalformedError{Member: "content.coupon.status"}
	}
	r.Coupon = &processor.Coupon{ID: string(c.ID), Code: string(c.ID), Active: c.Status == "active" && !deleted}
	return nil
}
