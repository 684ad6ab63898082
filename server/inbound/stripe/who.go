package stripe

import (
	"slices"

	"rail/server/ident"
	"rail/server/inbound/loose"
	"rail/server/inbound/processor"
)

// The keys of metadata that Rail reads.
const (
	metaClick    = "rail_click"    // a click or referral, as the browser script puts it there
	metaCustomer = "rail_customer" // the merchant's own id of the customer
	metaSwitch   = "rail"          // "skip": not Rail's
)

// skips reports whether the merchant opted out in one of these.
func skips(of ...loose.Meta) bool {
	return slices.ContainsFunc(of, func(m loose.Meta) bool { return m.Text(metaSwitch) == "skip" })
}

// clicked takes what names a click or a referral, and reports whether it does.
// What was taken first stays.
func clicked(b *processor.Binding, id string) bool {
	switch {
	case ident.Has(id, ident.Click):
		b.Click = first(b.Click, id)
	case ident.Has(id, ident.Referral):
		b.Referral = first(b.Referral, id)
	default:
		return false
	}
	return true
}

// describe adds what metadata says, the nearest to the payment first.
func describe(b *processor.Binding, of ...loose.Meta) {
	for _, m := range of {
		clicked(b, m.Text(metaClick))
		b.Identifier = first(b.Identifier, m.Text(metaCustomer))
	}
}

// redeem adds the promotion codes and coupons of discounts. A code is more
// telling than its coupon, which many codes share.
func redeem(b *processor.Binding, of ...discounted) {
	var codes, coupons []string
	for _, d := range of {
		for _, one := range append([]discount{d.Discount}, d.Discounts...) {
			codes = append(codes, string(one.Promotion))
			coupons = append(coupons, string(one.Coupon), string(one.Source.Coupon))
		}
	}
	for _, id := range slices.Concat(b.Coupon, codes, coupons) {
		if id != "" && !slices.Contains(b.Coupon, id) {
			b.Coupon = append(b.Coupon, id)
		}
	}
}

// known adds the customer, whole if it was expanded.
func known(b *processor.Binding, c loose.Ref[customer], account loose.ID) {
	b.Customer = string(first(c.ID, account))
	b.Email = first(b.Email, string(c.Object.Email))
	b.Name = first(b.Name, string(c.Object.Name))
	b.Skip = skips(c.Object.Metadata)
	describe(b, c.Object.Metadata)
	redeem(b, c.Object.discounted)
}

// customer reads an event about a customer, who may have been told apart by
// metadata or opted out.
func (r *reader) customer() error {
	var c loose.Ref[customer]
	if err := r.object(&c); err != nil {
		return err
	}
	if c.ID == "" {
		return processor.MalformedError{Member: "customer.id"}
	}
	var b processor.Binding
	known(&b, c, "")
	if b.Skip {
		return r.binds(b, processor.OptedOut, "")
	}
	return r.binds(b, processor.BindsOnly, "")
}

// statuses are those of subscriptions that change a customer; the others leave
// it as it is.
var statuses = map[loose.Text]string{"trialing": "trial", "active": "active", "canceled": "cancelled"}

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
	describe(&b, s.Metadata)
	redeem(&b, s.discounted)
	known(&b, s.Customer, s.Account)
	if b.Customer == "" {
		return processor.MalformedError{Member: "subscription.customer"}
	}
	b.Interval, _ = interval(s.Items)
	if b.Skip || skips(s.Metadata) {
		return r.ignore(processor.OptedOut, "")
	}
	return r.binds(b, processor.BindsOnly, "")
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
		return r.ignore(processor.NotUsed, "The discount is of no customer.")
	}
	return r.binds(b, processor.BindsOnly, "")
}

// promotionCode reads an event by which a code is switched on or off.
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
		ID loose.ID `json:"id"`
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
