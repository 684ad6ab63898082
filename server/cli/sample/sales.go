package sample

import (
	"context"
	"slices"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/money/rules"
	"rail/server/money/sale"
	"rail/server/program/customer"
	"rail/server/work"
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

// payment is a payment of a customer. Its id is empty until it is recorded.
type payment struct {
	id       string
	by       *buyer
	plan     plan
	at       clock.Time
	refunded *clock.Time
}

// subscribe decides what a customer does after signing up: 27 % never pay, those whose first payment would be in
// the future are on trial, and the others pay.
func (b *builder) subscribe(c *buyer) {
	first := c.lead.Plus(b.duration(10*time.Minute, 14*day))
	if b.chance(0.27) {
		return
	}
	if !b.past(first) {
		c.status = string(db.CustomerStatusTrial)
		return
	}
	b.charges(c, weighted(b, plans, func(p plan) float64 { return p.weight }), first)
	b.refund(c)
}

// charges bills a plan from its first payment until its cancellation or now. Each payment may be followed by an
// add-on, and by a cancellation before the next is due.
func (b *builder) charges(c *buyer, p plan, first clock.Time) {
	charge := func(p plan, at clock.Time) { c.sales = append(c.sales, &payment{by: c, plan: p, at: at}) }
	for n := 0; ; n++ {
		// AddDate, as processors do: a month is a calendar month.
		at := clock.At(first.AddDate(0, n*p.months, 0))
		if !b.past(at) {
			return
		}
		charge(p, at)
		if extra := at.Plus(b.duration(time.Hour, 5*day)); b.past(extra) && b.chance(0.07) {
			charge(pack, extra)
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
func (b *builder) cancel(c *buyer) {
	b.add(changes, c.sales[len(c.sales)-1].at.Plus(b.duration(day, 9*day)),
		func(ctx context.Context, u *work.Unit) error {
			_, err := customer.Service{}.Update(ctx, u, c.id, customer.Changes{Status: new(string(db.CustomerStatusCancelled))})
			return err
		})
}

// refund refunds the last payment of some customers and ends their subscription, mostly soon after the payment.
func (b *builder) refund(c *buyer) {
	if !b.chance(0.11) {
		return
	}
	after := b.duration(day, 14*day)
	if b.chance(0.25) {
		after = b.duration(33*day, 180*day) // for some after the commission was paid
	}
	last := c.sales[len(c.sales)-1]
	last.refunded = new(last.at.Plus(after))
}

// drawSales adds the payments and their refunds, and a refund that waits for its sale, and one whose sale never
// came: a processor may report a refund before its payment.
func (b *builder) drawSales() {
	var all []*payment
	for _, c := range b.customers {
		all = append(all, c.sales...)
	}
	// Numbered in the order of time, so that charge ids ascend as a processor's do.
	slices.SortFunc(all, func(x, y *payment) int { return x.at.Compare(y.at.Time) })
	// At least one is refunded after its commission was paid: in euros a payout has no minimum.
	if i := slices.IndexFunc(all, func(p *payment) bool {
		return p.refunded == nil && p.plan.product != addOn && isEuro(p.by.country) && !p.by.partner.suspended()
	}); i >= 0 {
		all[i].refunded = new(all[i].at.Days(100))
	}
	for i, p := range all {
		n := number(i+1, 6)
		b.add(payments, p.at, func(ctx context.Context, u *work.Unit) error { return b.record(ctx, u, p, "ch_nw"+n) })
		if p.refunded != nil {
			b.refundCharge(*p.refunded, "ch_nw"+n, "re_nw"+n)
		}
	}
	b.refundCharge(b.now.Days(-1), "ch_nw_early00", "re_nw_early00")
	b.refundCharge(b.now.Days(-36), "ch_nw_early01", "re_nw_early01")
}

// refundCharge adds a refund of a whole charge.
func (b *builder) refundCharge(t clock.Time, charge, refund string) {
	b.add(changes, t, func(ctx context.Context, u *work.Unit) error {
		_, err := sale.RefundCharge(ctx, u, b.programID, charge, sale.RefundInput{ExternalID: &refund})
		return err
	})
}

// record records a payment in the currency of the customer's country. Prices there are the same number of cents, or
// 1.5 yen a cent, whatever the exchange rates: the sample should be plain, not realistic.
func (b *builder) record(ctx context.Context, u *work.Unit, p *payment, charge string) error {
	in := sale.Payment{
		ProgramID: b.programID, ExternalChargeID: charge, Payer: sale.Payer{CustomerID: &p.by.id}, Processor: "stripe",
		AmountMinor: p.plan.price, Currency: currency, BillingType: &p.plan.billing, Interval: p.plan.interval,
		ProductID: &p.plan.product, ProductName: &p.plan.name,
	}
	switch {
	case isEuro(p.by.country):
		in.Currency = "EUR"
		in.TaxMinor = new((in.AmountMinor*19 + 59) / 119) // 19 % included in the price
	case p.by.country == "JP":
		in.Currency, in.AmountMinor = "JPY", in.AmountMinor*3/2
		in.TaxMinor = new((in.AmountMinor*10 + 55) / 110) // 10 %
	}
	// The processor's fee is 2.9 % and 30 more.
	in.FeeMinor = new(min(in.AmountMinor, rules.Percent(in.AmountMinor, 290)+30))
	out, err := sale.Service{Customers: customer.Service{}}.Record(ctx, u, in)
	p.id = out.Sale.ID
	return err
}
