// Package importtest has a program at another affiliate product, with a year of history, and a fake of each product's
// API that shows it.
package importtest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"rail/server/clock"
	"rail/server/inbound/importer/source"
)

// World is a program at another product, in the common form of sources. All ids are unique. Amounts add up: each
// paid commission belongs to a payout, and a payout is the sum of its commissions.
type World struct {
	Now      clock.Time
	Partners []source.Row
	// Links, and so on, refer to partners and to one another by Row.ID.
	Links       []source.Row
	Coupons     []source.Row
	Customers   []source.Row
	Sales       []source.Row
	Commissions []source.Row
	Payouts     []source.Row

	random *rand.Rand
	param  string
	serial int
}

// Shape limits a world to the objects that a product has.
type Shape struct {
	Param string // of links
	// Values returns the tracking value of a partner's link; nil for plain lower-case words.
	Values func(partner, link int) string
	// OneCurrency keeps all money in USD.
	OneCurrency bool
}

// NewWorld returns the program of n partners that seed chooses, up to now. A third of the partners is idle, a tenth is
// not active.
func NewWorld(seed uint64, n int, now time.Time, shape Shape) *World {
	shape = shape.complete()
	w := &World{Now: clock.At(now.Truncate(time.Second)), random: rand.New(rand.NewPCG(seed, 1)), param: shape.Param}
	for i := range n {
		w.partner(i, shape)
	}
	return w
}

// complete sets what is left out.
func (s Shape) complete() Shape {
	if s.Values == nil {
		s.Values = func(partner, link int) string { return fmt.Sprintf("friend%d-%c", partner, 'a'+link) }
	}
	return s
}

// Rows returns all rows.
func (w *World) Rows() []source.Row {
	var all []source.Row
	for _, of := range [][]source.Row{w.Partners, w.Links, w.Coupons, w.Customers, w.Sales, w.Commissions, w.Payouts} {
		all = append(all, of...)
	}
	return all
}

// id returns the next id with a prefix.
func (w *World) id(prefix string) string {
	w.serial++
	return fmt.Sprintf("%s_%06d", prefix, w.serial)
}

// ago returns a time so many days before now.
func (w *World) ago(days int) clock.Time { return w.Now.Days(int64(-days)) }

// partner adds a partner with links, a coupon for every fifth, and its customers.
func (w *World) partner(i int, shape Shape) {
	p := source.Row{Kind: source.KindPartner, ID: w.id("aff"), Partner: &source.Partner{
		Email:       fmt.Sprintf("partner%d@example.com", i),
		FirstName:   fmt.Sprintf("Ada%d", i),
		LastName:    "Lovelace",
		CountryCode: []string{"US", "DE", "GB", "JP"}[i%4],
		Status:      source.Active,
		Group:       []string{"Standard", "Gold"}[i%2],
		CreatedAt:   w.ago(380 - i%40),
	}}
	switch i % 30 {
	case 7:
		p.Partner.Status = source.Pending
	case 17:
		p.Partner.Status = source.Suspended
	case 27:
		p.Partner.Status = source.Declined
	}
	w.Partners = append(w.Partners, p)
	link := w.link(p, shape.Values(i, 0), 0)
	if i%4 == 1 {
		w.link(p, shape.Values(i, 1), 1)
	}
	coupon := ""
	if i%5 == 0 {
		row := source.Row{Kind: source.KindCoupon, ID: w.id("cpn"), Coupon: &source.Coupon{
			PartnerID: p.ID, Code: fmt.Sprintf("SAVE%d", i), ExternalID: fmt.Sprintf("promo_%d", i), Active: i%10 == 0,
			CreatedAt: p.Partner.CreatedAt.Days(1),
		}}
		w.Coupons, coupon = append(w.Coupons, row), row.ID
	}
	if i%3 == 2 || p.Partner.Status == source.Pending || p.Partner.Status == source.Declined {
		return // idle
	}
	for n := range 1 + w.random.IntN(4) {
		w.customer(p, link, coupon, n, !shape.OneCurrency && i%6 == 1)
	}
}

// link adds a link to a partner and returns its id.
func (w *World) link(p source.Row, value string, n int) string {
	row := source.Row{Kind: source.KindLink, ID: w.id("lnk"), Link: &source.Link{
		PartnerID: p.ID, Param: w.param, Value: value, URL: "https://shop.example/", CreatedAt: p.Partner.CreatedAt.Days(int64(n)),
	}}
	w.Links = append(w.Links, row)
	return row.ID
}

// customer adds a lead, and in three of four cases its monthly payments.
func (w *World) customer(p source.Row, link, coupon string, n int, euro bool) {
	lead := w.ago(20 + w.random.IntN(300))
	c := source.Row{Kind: source.KindCustomer, ID: w.id("ref"), Customer: &source.Customer{
		PartnerID: p.ID, ExternalIDs: []string{w.id("cus")}, Processor: "stripe", Email: w.id("buyer") + "@example.net",
		Name: "Grace Hopper", LinkID: link, Status: source.Lead, LeadAt: lead, CreatedAt: lead,
	}}
	if coupon != "" && n == 0 {
		c.Customer.LinkID, c.Customer.CouponID = "", coupon
	}
	if n%4 != 3 {
		first := lead.Days(2)
		c.Customer.Status, c.Customer.ConvertedAt = source.Paying, &first
		currency := "USD"
		if euro {
			currency = "EUR"
		}
		for at := first; at.Before(w.Now.Time); at = at.Days(30) {
			w.Sale(c, currency, at)
		}
	}
	w.Customers = append(w.Customers, c)
}

// Sale adds a payment of a customer with its commission of 30 %. The commission is due after 30 days and is paid on
// the fifth of the month after the one in which it became due. One in nine is refunded, one in fourteen rejected.
func (w *World) Sale(c source.Row, currency string, at clock.Time) source.Row {
	amount := int64(2900 + w.random.IntN(90)*100)
	s := source.Row{Kind: source.KindSale, ID: w.id("sale"), Sale: &source.Sale{
		CustomerID: c.ID, PartnerID: c.Customer.PartnerID, ChargeID: w.id("ch"), AmountMinor: amount, Currency: currency,
		Recurring: true, OccurredAt: at,
	}}
	due := at.Days(30)
	k := source.Row{Kind: source.KindCommission, ID: w.id("com"), Commission: &source.Commission{
		PartnerID: c.Customer.PartnerID, CustomerID: c.ID, SaleID: s.ID, AmountMinor: amount * 3 / 10, Currency: currency,
		Status: source.Open, CreatedAt: at, MatureAt: &due,
	}}
	paid := w.payday(*k.Commission)
	seen := at.Days(3)
	switch {
	case w.serial%9 == 0 && seen.Before(w.Now.Time):
		s.Sale.RefundedMinor, s.Sale.RefundedAt = amount, &seen
		k.Commission.Status, k.Commission.VoidedAt, k.Commission.Reason = source.Voided, &seen, "The sale was refunded."
	case w.serial%14 == 0 && seen.Before(w.Now.Time):
		k.Commission.Status, k.Commission.VoidedAt, k.Commission.Reason = source.Rejected, &seen, "A self-referral."
	case paid.Before(w.Now.Time):
		k.Commission.Status, k.Commission.PaidAt = source.Paid, &paid
		k.Commission.PayoutID = w.payout(k, paid)
	case due.Before(w.Now.Time):
		k.Commission.Status = source.Due
	}
	w.Sales, w.Commissions = append(w.Sales, s), append(w.Commissions, k)
	return k
}

// payout adds a commission to the payout of a partner, a currency and a day, and returns its id.
func (w *World) payout(k source.Row, at clock.Time) string {
	for _, p := range w.Payouts {
		if p.Payout.PartnerID == k.Commission.PartnerID && p.Payout.Currency == k.Commission.Currency &&
			p.Payout.PaidAt.Equal(at.Time) {
			p.Payout.AmountMinor += k.Commission.AmountMinor
			return p.ID
		}
	}
	row := source.Row{Kind: source.KindPayout, ID: w.id("pay"), Payout: &source.Payout{
		PartnerID: k.Commission.PartnerID, AmountMinor: k.Commission.AmountMinor, Currency: k.Commission.Currency,
		Status: source.Paid, Method: "paypal", PaidAt: &at, CreatedAt: at,
	}}
	w.Payouts = append(w.Payouts, row)
	return row.ID
}

// Open returns the unpaid money by partner and currency, in minor units.
func (w *World) Open() map[string]map[string]int64 {
	return w.sum(func(k *source.Commission) bool { return k.Status == source.Open || k.Status == source.Due })
}

// Paid returns the paid money by partner and currency, in minor units.
func (w *World) Paid() map[string]map[string]int64 {
	return w.sum(func(k *source.Commission) bool { return k.Status == source.Paid })
}

func (w *World) sum(counts func(*source.Commission) bool) map[string]map[string]int64 {
	sums := map[string]map[string]int64{}
	for _, row := range w.Commissions {
		k := row.Commission
		if !counts(k) {
			continue
		}
		if sums[k.PartnerID] == nil {
			sums[k.PartnerID] = map[string]int64{}
		}
		sums[k.PartnerID][k.Currency] += k.AmountMinor
	}
	return sums
}

// Advance lets days pass: commissions become due and are paid, customers pay again, a sale is refunded, and a partner
// joins. The world's slices are new, so that earlier copies stay as they are.
func (w *World) Advance(days int, shape Shape) {
	w.Now = w.Now.Days(int64(days))
	refunded := false
	for i, row := range w.Commissions {
		k := *row.Commission
		switch {
		case k.Status == source.Open && !refunded:
			k.Status, k.Reason, k.VoidedAt, refunded = source.Voided, "The sale was refunded.", &w.Now, true
			w.refund(k.SaleID)
		case (k.Status == source.Open || k.Status == source.Due) && w.payday(k).Before(w.Now.Time):
			at := w.payday(k)
			k.Status, k.PaidAt = source.Paid, &at
			k.PayoutID = w.payout(source.Row{Commission: &k}, at)
		case k.Status == source.Open && k.MatureAt.Before(w.Now.Time):
			k.Status = source.Due
		}
		w.Commissions[i].Commission = &k
	}
	for _, c := range w.Customers {
		if c.Customer.Status == source.Paying && w.random.IntN(3) == 0 {
			w.Sale(c, "USD", w.Now.Days(-1))
		}
	}
	w.partner(len(w.Partners)+30, shape.complete())
}

// payday returns when a commission is paid: on the fifth of the month after it became due.
func (w *World) payday(k source.Commission) clock.Time {
	due := *k.MatureAt
	return clock.At(time.Date(due.Year(), due.Month(), 1, 0, 0, 0, 0, time.UTC).AddDate(0, 1, 4))
}

// refund refunds a sale now.
func (w *World) refund(id string) {
	for i, row := range w.Sales {
		if row.ID == id {
			s := *row.Sale
			s.RefundedMinor, s.RefundedAt = s.AmountMinor, &w.Now
			w.Sales[i].Sale = &s
		}
	}
}
