package stripe

import (
	"slices"

	"rail/server/inbound/lenient"
	"rail/server/inbound/processor"
)

// maxCoupons bounds the codes of one event, each of which is looked up and may be waited for; Stripe allows 20
// discounts.
const maxCoupons = 50

// redeem adds the promotion codes and coupons of discounts. A code is more specific than its coupon, which many
// codes share.
func redeem(b *processor.Binding, of ...discounted) {
	var codes, coupons []string
	for _, d := range of {
		for _, one := range append([]discount{d.Discount}, d.Discounts...) {
			codes = append(codes, string(one.Promotion))
			coupons = append(coupons, string(one.Coupon), string(one.Source.Coupon))
		}
	}
	for _, id := range slices.Concat(b.Coupon, codes, coupons) {
		if id != "" && len(b.Coupon) < maxCoupons && !slices.Contains(b.Coupon, id) {
			b.Coupon = append(b.Coupon, id)
		}
	}
}

// addCustomer adds the customer, with its members if it was expanded.
func addCustomer(b *processor.Binding, c lenient.Ref[customer], account lenient.ID) {
	b.Customer = string(first(c.ID, account))
	b.Email = first(b.Email, string(c.Object.Email))
	b.Name = first(b.Name, string(c.Object.Name))
	b.Skip = processor.Skips(c.Object.Metadata)
	b.Describe(c.Object.Metadata)
	redeem(b, c.Object.discounted)
}

// customer reads an event about a customer, whose metadata may identify it or opt it out.
func (r *reader) customer() error {
	var c lenient.Ref[customer]
	if err := r.object(&c); err != nil {
		return err
	}
	if c.ID == "" {
		return processor.MalformedError{Member: "customer.id"}
	}
	b := processor.Binding{CustomerOnly: true}
	addCustomer(&b, c, "")
	if b.Skip {
		return r.Binds(b, processor.OptedOut, "")
	}
	return r.Binds(b, processor.BindsOnly, "")
}

// statuses maps the subscription states that change a customer; others do not.
var statuses = map[lenient.Text]string{"trialing": "trial", "active": "active", "canceled": "cancelled"}

// subscription reads an event about a subscription.
func (r *reader) subscription() error {
	var s subscription
	if err := r.object(&s); err != nil {
		return err
	}
	if s.ID == "" {
		return processor.MalformedError{Member: "subscription.id"}
	}
	b := processor.Binding{Subscription: string(s.ID), Status: statuses[s.Status]}
	if r.Reading.Type == "customer.subscription.deleted" {
		b.Status = statuses["canceled"]
	}
	b.Describe(s.Metadata)
	redeem(&b, s.discounted)
	addCustomer(&b, s.Customer, s.Account)
	if b.Customer == "" {
		return processor.MalformedError{Member: "subscription.customer"}
	}
	b.Interval, _ = interval(s.Items)
	if b.Skip || processor.Skips(s.Metadata) {
		return r.Ignore(processor.OptedOut, "")
	}
	return r.Binds(b, processor.BindsOnly, "")
}

// discount reads an event by which a customer got a discount.
func (r *reader) discount() error {
	var d discount
	if err := r.object(&d); err != nil {
		return err
	}
	b := processor.Binding{Customer: string(d.Customer)}
	redeem(&b, discounted{Discount: d})
	if b.Customer == "" || len(b.Coupon) == 0 {
		return r.Ignore(processor.NotUsed, "The discount has no customer.")
	}
	return r.Binds(b, processor.BindsOnly, "")
}

// promotionCode reads an event by which a code is turned on or off.
func (r *reader) promotionCode() error {
	var p promotionCode
	if err := r.object(&p); err != nil {
		return err
	}
	switch {
	case p.ID == "":
		return processor.MalformedError{Member: "promotion_code.id"}
	case !p.Active.OK:
		return processor.MalformedError{Member: "promotion_code.active"}
	}
	r.Coupon = &processor.Coupon{
		ID: string(p.ID), Code: string(p.Code), Active: p.Active.V,
		Parent: string(first(p.Promotion.Coupon, p.Coupon)),
	}
	return nil
}

// couponDeleted reads the end of a coupon, and with it of its codes.
func (r *reader) couponDeleted() error {
	var c struct {
		ID lenient.ID `json:"id"`
	}
	if err := r.object(&c); err != nil {
		return err
	}
	if c.ID == "" {
		return processor.MalformedError{Member: "coupon.id"}
	}
	r.Coupon = &processor.Coupon{ID: string(c.ID)}
	return nil
}
