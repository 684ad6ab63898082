package attribution

import (
	"context"

	"rail/gen/db"
	"rail/server/money/sale"
	"rail/server/opt"
)

// move is a customer, and its partner under other settings.
type move struct {
	customer           db.Customer
	after              Outcome
	changed, undecided bool
	moved              Moved
}

// credited returns the customer as the other partner would have it.
func (m *move) credited() db.Customer {
	k := m.customer
	if !m.changed {
		return k
	}
	k.PartnerID, k.CouponID, k.TrackedBy = opt.OrNil(m.after.PartnerID), opt.OrNil(m.after.CouponID), db.TrackedByCoupon
	k.ReferralID, k.LinkID, k.ClickID, k.SelfReferral = nil, nil, nil, false
	if t := m.after.Touch; t != nil {
		k.ReferralID, k.LinkID, k.ClickID, k.TrackedBy = &t.ReferralID, t.LinkID, &t.ClickID, db.TrackedByLink
	}
	return k
}

// pricing calculates the money of a page of customers.
type pricing struct {
	*preview
	rates     map[string][]byte                // by link
	clicks    map[string]db.RehearsalClicksRow // by id
	sums      sums
	elsewhere int64 // sales in other currencies
}

// price calculates the revenue and commissions of a page of customers, and adds them to the sums at the end.
func (p *preview) price(ctx context.Context, moves []*move) error {
	c := &pricing{preview: p, rates: map[string][]byte{}, sums: sums{}}
	if err := c.readRoutes(ctx, moves); err != nil {
		return err
	}
	for _, m := range moves {
		if err := c.signUp(ctx, m); err != nil {
			return err
		}
	}
	if err := c.sell(ctx, moves); err != nil {
		return err
	}
	p.sums.merge(c.sums)
	p.out.OtherCurrency += c.elsewhere
	return nil
}

// readRoutes reads the rates of links and the countries of clicks.
func (c *pricing) readRoutes(ctx context.Context, moves []*move) (err error) {
	var links, clicks []string
	for _, m := range moves {
		for _, k := range []db.Customer{m.customer, m.credited()} {
			if k.LinkID != nil {
				links = append(links, *k.LinkID)
			}
			if k.ClickID != nil {
				clicks = append(clicks, *k.ClickID)
			}
		}
	}
	if len(links) > 0 {
		rows, err := queries.RehearsalLinks(ctx, c.u.DB(), db.RehearsalLinksParams{Ids: links, OrgID: c.u.OrgID})
		if err != nil {
			return err
		}
		for _, r := range rows {
			c.rates[r.ID] = r.RateOverride
		}
	}
	c.clicks, err = c.preview.clicks(ctx, clicks)
	return err
}

// with returns a customer with all that the rules read about it and its partner.
func (c *pricing) with(k db.Customer) sale.ReferredCustomer {
	of := c.partners[opt.Value(k.PartnerID)]
	return sale.ReferredCustomer{
		Customer: k, Partner: of.Partner, TagIDs: of.tags, RateOverride: c.rates[opt.Value(k.LinkID)],
		ClickCountry: opt.Value(c.clicks[opt.Value(k.ClickID)].Country),
	}
}

// signUp adds the customer and the commissions of its sign-up to both sides.
func (c *pricing) signUp(ctx context.Context, m *move) error {
	before, err := c.past.Signup(ctx, c.with(m.customer))
	if err != nil {
		return err
	}
	after := before
	if m.changed {
		if after, err = c.past.Signup(ctx, c.with(m.credited())); err != nil {
			return err
		}
	}
	c.book(m, opt.Value(m.customer.PartnerID), Side{1, 0, c.minor(before)}, false)
	c.book(m, m.after.PartnerID, Side{1, 0, c.minor(after)}, true)
	return nil
}

// minor returns an amount in the program's currency; 0 for another one.
func (c *pricing) minor(p sale.Pay) int64 {
	if p.Currency != c.program.Currency {
		return 0
	}
	return p.AmountMinor
}

// book adds money to one side of a partner and of the customer; "" is no partner.
func (c *pricing) book(m *move, partnerID string, s Side, after bool) {
	if partnerID == "" {
		return
	}
	if after {
		c.sums.of(partnerID).After.add(s)
		m.moved.After += s.CommissionsMinor
		return
	}
	c.sums.of(partnerID).Before.add(s)
	m.moved.Before += s.CommissionsMinor
}

// sell decides the sales of the customers, page by page.
func (c *pricing) sell(ctx context.Context, moves []*move) error {
	at := map[string]int{}
	p := db.RehearsalSalesParams{OrgID: c.u.OrgID, Lim: salesPage}
	for i, m := range moves {
		at[m.customer.ID] = i
		p.CustomerIds = append(p.CustomerIds, m.customer.ID)
	}
	for len(p.CustomerIds) > 0 {
		rows, err := queries.RehearsalSales(ctx, c.u.DB(), p)
		if err != nil {
			return err
		}
		if err := c.sellPage(ctx, rows, func(id string) *move { return moves[at[id]] }); err != nil {
			return err
		}
		if len(rows) < salesPage {
			return nil
		}
		last := rows[len(rows)-1].Sale
		for p.CustomerIds[0] != last.CustomerID {
			p.CustomerIds = p.CustomerIds[1:]
		}
		p.AfterAt, p.AfterID = last.CreatedAt, last.ID
	}
	return nil
}

// sold is a sale of a customer on both sides.
type sold struct {
	move          *move
	minor         int64 // revenue in the program's currency
	before, after sale.ReferredSale
	moved         bool // the sides differ
}

// sellPage decides a page of sales. A sale keeps its partner if its customer does; of a customer with a partner, one
// without stays without (decisions, 81).
func (c *pricing) sellPage(ctx context.Context, rows []db.RehearsalSalesRow, of func(customerID string) *move) error {
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = opt.Value(r.Sale.PartnerID)
	}
	if err := c.loadPartners(ctx, ids); err != nil {
		return err
	}
	page := make([]sold, 0, len(rows))
	for _, r := range rows {
		page = append(page, c.sold(r.Sale, of(r.Sale.CustomerID)))
	}
	return c.pay(ctx, page)
}

func (c *pricing) sold(s db.Sale, m *move) sold {
	k := m.customer
	k.PartnerID = s.PartnerID
	out := sold{move: m, before: sale.ReferredSale{Sale: s, ReferredCustomer: c.with(k)}}
	out.after = out.before
	if m.changed && (s.PartnerID != nil || m.customer.PartnerID == nil) {
		out.after.ReferredCustomer, out.moved = c.with(m.credited()), true
	}
	if s.Currency == c.program.Currency {
		out.minor = s.AmountMinor
	} else {
		c.elsewhere++
	}
	return out
}

// pay decides the commissions of a page of sales, and adds them to both sides.
func (c *pricing) pay(ctx context.Context, page []sold) error {
	var before, other []sale.ReferredSale
	for _, s := range page {
		before = append(before, s.before)
		if s.moved {
			other = append(other, s.after)
		}
	}
	pays, err := c.past.Pays(ctx, before)
	if err != nil {
		return err
	}
	others, err := c.past.Pays(ctx, other)
	if err != nil {
		return err
	}
	for i, s := range page {
		pay := pays[i]
		c.book(s.move, opt.Value(s.before.Customer.PartnerID), Side{0, s.minor, c.minor(pay)}, false)
		if s.moved {
			pay, others = others[0], others[1:]
		}
		c.book(s.move, opt.Value(s.after.Customer.PartnerID), Side{0, s.minor, c.minor(pay)}, true)
		s.move.moved.RevenueMinor += s.minor
	}
	return nil
}

// add adds a customer to the result.
func (p *preview) add(m *move) {
	p.out.Customers++
	if m.undecided {
		p.out.Undecided++
	}
	if !m.changed {
		return
	}
	if p.out.Changed++; len(p.out.Changes) >= maxChanges {
		return
	}
	m.moved.CustomerID, m.moved.LeadAt, m.moved.Reason = m.customer.ID, m.customer.LeadAt, m.after.Reason
	m.moved.From, m.moved.To = m.customer.PartnerID, opt.OrNil(m.after.PartnerID)
	p.out.Changes = append(p.out.Changes, m.moved)
}
