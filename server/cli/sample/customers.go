package sample

import (
	"strings"
	"time"

	"rail/server/clock"
	"rail/server/ident"
)

// The number of customers, and of those without a link. The others come by links, so that attribution by link is
// the common case, as in real programs.
const (
	customerCount = 2500
	byCoupon      = 220
	byHand        = 40
)

// customer is a customer with its origin (a visit, a coupon or manual), and its history.
type customer struct {
	id, status, trackedBy, country string
	n                              int
	partner                        *partner
	visit                          *visit
	linkID, couponID, clickID      *string
	override                       bool
	// The times of the sign-up, of the first payment (nil without one) and of the row's last change.
	lead      clock.Time
	converted *clock.Time
	updated   clock.Time
	sales     []*sale
}

// customerRows draws the customers and their payments, in the order of time.
func (b *builder) customerRows() {
	for range byCoupon {
		c := pick(b, b.coupons)
		b.customer(&customer{
			partner: c.owner, couponID: &c.id, trackedBy: "coupon", country: pick(b, customerCountries),
			lead: b.between(c.created, b.now),
		})
	}
	for range byHand {
		p := b.partnerAt(b.now)
		b.customer(&customer{
			partner: p, trackedBy: "api", country: pick(b, customerCountries), lead: b.between(p.joined, b.now),
		})
	}
	// In a random order: otherwise all customers would be from the first months.
	visits := append([]*visit{}, b.visits...)
	b.rnd.Shuffle(len(visits), func(i, j int) { visits[i], visits[j] = visits[j], visits[i] })
	for _, v := range visits {
		if len(b.customers) == customerCount {
			break
		}
		// Customers sign up within a day and a half of their last click, which gets the attribution.
		last := v.clicks[len(v.clicks)-1]
		lead := last.at.Plus(b.within(time.Minute, 36*time.Hour))
		// Left out: future ones, those of partners who were no longer active, and those whose cookie, set by the
		// first click, might have expired.
		if !b.past(lead) || !v.partner.activeAt(lead) || last.at.Sub(v.clicks[0].at.Time) > (cookieDays-2)*day {
			continue
		}
		b.customer(&customer{
			partner: v.partner, visit: v, linkID: &v.link.id, clickID: &last.id, override: v.link.override, trackedBy: "link",
			country: v.country, lead: lead,
		})
	}
}

// customer draws the payments of a customer and adds the row with the resulting state.
func (b *builder) customer(c *customer) {
	c.id, c.n, c.status, c.updated = ident.NewSample(ident.Customer), len(b.customers)+1, "lead", c.lead
	b.customers = append(b.customers, c)
	b.subscribe(c)
	// One in fifty customers without a payment is suspended, so that the state exists.
	if c.status == "lead" && c.n%50 == 0 {
		c.status = "suspended"
	}
	if v := c.visit; v != nil {
		v.status, v.changed = "lead", c.lead
		if c.converted != nil {
			v.status, v.changed = "converted", *c.converted
		}
	}
	b.customerRow(c)
}

// customerRow adds the row; a subscription exists from the first payment on.
func (b *builder) customerRow(c *customer) {
	// The number makes addresses unique, which names drawn from two short lists are not.
	first, last := pick(b, firstNames), pick(b, lastNames)
	email := strings.ToLower(first+"."+last) + number(c.n, 1) + "@" + pick(b, domains)
	var referral, subscription *string
	if c.visit != nil {
		referral = &c.visit.id
	}
	if c.converted != nil {
		subscription = new("sub_nw" + number(c.n, 6))
	}
	b.add(b.sheets.customers, c.id, c.partner.id, referral, c.linkID, c.couponID, c.clickID, "stripe",
		"cus_nw"+number(c.n, 6), subscription,
		email, first+" "+last, c.status, c.trackedBy, c.lead, c.converted, c.lead, c.updated)
	b.add(b.sheets.externalIDs, "cus_nw"+number(c.n, 6), c.id, "stripe", c.lead)
}
