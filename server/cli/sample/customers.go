package sample

import (
	"context"
	"strings"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/opt"
	"rail/server/program/customer"
	"rail/server/program/tracking"
	"rail/server/work"
)

// The number of customers without a link, at full size. The others come by links, so that attribution by
// link is the common case, as in real programs.
const (
	byCoupon = 220
	byHand   = 40
)

// buyer is a customer with its history. Its id is empty until it has signed up.
type buyer struct {
	id, name, email, country string
	status                   string // at the sign-up; "" for a lead
	n                        int
	partner                  *partner
	lead                     clock.Time
	sales                    []*payment
}

// drawCustomers draws the customers and their payments.
func (b *builder) drawCustomers() {
	for range byCoupon * b.size.customers / full.customers {
		c := pick(b, b.coupons)
		b.customer(&buyer{partner: c.owner, country: pick(b, customerCountries), lead: b.between(c.created, b.now)},
			func() tracking.Route { return tracking.Route{CouponCode: &c.code} })
	}
	for range byHand * b.size.customers / full.customers {
		p := b.partnerAt(b.now)
		b.customer(&buyer{partner: p, country: pick(b, customerCountries), lead: b.between(p.joined, b.now)},
			func() tracking.Route { return tracking.Route{PartnerID: &p.id} })
	}
	// In a random order: otherwise all customers would be from the first months.
	visits := append([]*visit{}, b.visits...)
	b.rnd.Shuffle(len(visits), func(i, j int) { visits[i], visits[j] = visits[j], visits[i] })
	for _, v := range visits {
		if len(b.customers) == b.size.customers {
			break
		}
		// Customers sign up within a day and a half of their last click, which gets the attribution.
		last := v.clicks[len(v.clicks)-1]
		lead := last.Plus(b.duration(time.Minute, 36*time.Hour))
		// Left out: future ones, those of partners who were no longer active, and those whose cookie, set by the
		// first click, might have expired.
		if !b.past(lead) || !v.partner.activeAt(lead) || last.Sub(v.clicks[0].Time) > (cookieDays-2)*day {
			continue
		}
		b.customer(&buyer{partner: v.partner, country: v.country, lead: lead},
			func() tracking.Route { return tracking.Route{ClickID: &v.lastClick} })
	}
}

// customer draws the payments of a customer, and adds its sign-up by a route.
func (b *builder) customer(c *buyer, route func() tracking.Route) {
	c.n = len(b.customers) + 1
	b.customers = append(b.customers, c)
	b.subscribe(c)
	// One in fifty customers without a payment is suspended, so that the state exists.
	if len(c.sales) == 0 && c.status == "" && c.n%50 == 0 {
		c.status = string(db.CustomerStatusSuspended)
	}
	// The number makes addresses unique, which names drawn from two short lists are not.
	first, last := pick(b, firstNames), pick(b, lastNames)
	c.name, c.email = first+" "+last, strings.ToLower(first+"."+last)+number(c.n, 1)+"@"+pick(b, domains)
	b.add(signUps, c.lead, func(ctx context.Context, u *work.Unit) error {
		k, err := customer.Service{}.Create(ctx, u, customer.Input{
			ProgramID: b.programID, Route: route(), ExternalCustomerID: new("cus_nw" + number(c.n, 6)), Email: &c.email,
			Name: &c.name, Status: opt.OrNil(c.status), Processor: "stripe",
		})
		c.id = k.ID
		return err
	})
	if c.partner.groupID == b.creators {
		b.bounty(c)
	}
}
