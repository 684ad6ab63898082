package sample

import (
	"time"

	"rail/server/clock"
	"rail/server/ident"
)

// plan is a product's price plan. The price is gross, in US cents; weight is how often the plan is chosen,
// relative to the others.
type plan struct {
	product, name, billing string
	interval               *string
	price                  int64
	weight                 float64
	months                 int // between charges, 0 for one charge
}

// plans are the subscription plans.
var plans = []plan{
	{"prod_personal", "Personal", "subscription", new("month"), 900, 46, 1},
	{"prod_personal", "Personal", "subscription", new("year"), 8400, 20, 12},
	{"prod_team", "Team", "subscription", new("month"), 4500, 20, 1},
	{"prod_team", "Team", "subscription", new("year"), 43200, 8, 12},
	{"prod_lifetime", "Personal, for life", "one_time", nil, 14900, 6, 0},
}

// pack is the add-on that subscribers buy occasionally; no flow pays for it.
var pack = plan{product: addOn, name: "AI pack", billing: "one_time", price: 500}

// sale is one payment, with its refund if there was one.
type sale struct {
	id       string
	plan     plan   // the plan paid for
	amount   int64  // gross, in minor units of currency
	tax      *int64 // included in amount; nil if unknown
	currency string
	at       clock.Time
	refunded *clock.Time
	first    bool
	n        int // its position among all payments, from 1 on
}

// subscribe decides what a customer does after signing up: 27 % never pay, those whose first payment would be in
// the future are on trial, and the others pay.
func (b *builder) subscribe(c *customer) {
	at := c.lead.Plus(b.within(10*time.Minute, 14*day))
	if b.chance(0.27) {
		return
	}
	if !b.past(at) {
		c.status = "trial"
		return
	}
	c.status, c.converted = "active", &at
	b.charges(c, weighted(b, plans, func(p plan) float64 { return p.weight }), at)
	b.refund(c)
	// The first payment changes the row too, unless something did later.
	c.updated = latest(c.updated, at)
}

// charges bills a plan from its first payment until its cancellation or now. Each payment may be followed by an
// add-on, and by a cancellation before the next is due.
func (b *builder) charges(c *customer, p plan, first clock.Time) {
	for n := 0; ; n++ {
		// AddDate, as processors do: a month is a calendar month.
		at := clock.At(first.AddDate(0, n*p.months, 0))
		if !b.past(at) {
			return
		}
		b.charge(c, p, at)
		if extra := at.Plus(b.within(time.Hour, 5*day)); b.past(extra) && b.chance(0.07) {
			b.charge(c, pack, extra)
		}
		if p.months == 0 {
			return
		}
		if b.chance(0.115) {
			b.cancel(c)
			return
		}
	}
}

// cancel ends the subscription some days after the last payment.
func (b *builder) cancel(c *customer) {
	if at := c.sales[len(c.sales)-1].at.Plus(b.within(day, 9*day)); b.past(at) {
		c.status, c.updated = "cancelled", at
	}
}

// charge adds a payment in the currency of the customer's country. Prices there are the same number of cents, or
// 1.5 yen a cent, whatever the exchange rates: the sample should be plain, not realistic.
func (b *builder) charge(c *customer, p plan, at clock.Time) {
	s := &sale{
		id: ident.NewSample(ident.Sale), plan: p, at: at, currency: currency, amount: p.price, first: len(c.sales) == 0,
	}
	switch {
	case isEuro(c.country):
		s.currency = "EUR"
		s.tax = new((p.price*19 + 59) / 119) // 19 % included in the price
	case c.country == "JP":
		s.currency, s.amount = "JPY", p.price*3/2
		s.tax = new((s.amount*10 + 55) / 110) // 10 %
	}
	c.sales = append(c.sales, s)
}

// refund refunds the last payment of some customers and ends their subscription, mostly soon after the payment.
func (b *builder) refund(c *customer) {
	if !b.chance(0.11) {
		return
	}
	s, after := c.sales[len(c.sales)-1], b.within(day, 14*day)
	if b.chance(0.25) {
		after = b.within(33*day, 180*day) // for some after the commission was paid
	}
	// A refund in the future has not happened.
	if at := s.at.Plus(after); b.past(at) {
		s.refunded, c.status, c.updated = &at, "refunded", latest(at, c.updated)
	}
}
