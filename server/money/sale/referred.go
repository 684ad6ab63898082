package sale

import (
	"context"

	"rail/gen/db"
	"rail/server/money/commission"
	"rail/server/money/rules"
	"rail/server/opt"
	"rail/server/work"
)

// ReferredCustomer is a customer with a partner and the route to it, and all that the rules read about the two.
type ReferredCustomer struct {
	Customer     db.Customer
	Partner      db.Partner
	TagIDs       []string
	RateOverride []byte // of the customer's link
	ClickCountry string // "" if unknown
}

// ReferredSale is a recorded sale to a referred customer.
type ReferredSale struct {
	db.Sale
	ReferredCustomer
}

// Past decides recorded sales and sign-ups of a program again, under its present flows. Customers and partners are
// as they are now, but a customer's counters are those at each sale. It writes nothing.
type Past struct {
	decider *decider
	signups []rules.Flow
}

// NewPast reads the flows of a program.
func NewPast(ctx context.Context, u *work.Unit, p db.Program) (*Past, error) {
	d, err := newDecider(ctx, u, p)
	if err != nil {
		return nil, err
	}
	stored, err := queries.FlowsActive(ctx, u.DB(), db.FlowsActiveParams{
		ProgramID: p.ID, OrgID: u.OrgID, Trigger: rules.NewSignup,
	})
	if err != nil {
		return nil, err
	}
	signups, err := commission.Parse(stored)
	return &Past{d, signups}, err
}

// Pays returns the commissions of sales, in their order. A sale of a customer without a partner pays nothing.
func (p *Past) Pays(ctx context.Context, sales []ReferredSale) ([]Pay, error) {
	rows := make([]db.RehearsalProgramSalesRow, len(sales))
	for i, s := range sales {
		rows[i] = s.row()
	}
	recordings, err := p.decider.withCounters(ctx, rows)
	if err != nil {
		return nil, err
	}
	out := make([]Pay, len(rows))
	for i, r := range recordings {
		if out[i], err = r.pays(p.decider.before); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// row returns the sale as a rehearsal of flows reads it.
func (s ReferredSale) row() db.RehearsalProgramSalesRow {
	s.Sale.PartnerID = s.Customer.PartnerID
	return db.RehearsalProgramSalesRow{
		Sale: s.Sale, Customer: s.Customer, PartnerStatus: s.Partner.Status, PartnerGroupID: s.Partner.GroupID,
		PartnerCountry: s.Partner.CountryCode, RateOverride: s.RateOverride, ClickCountry: s.ClickCountry, TagIds: s.TagIDs,
	}
}

// Signup returns the commission of a customer's sign-up.
func (p *Past) Signup(ctx context.Context, c ReferredCustomer) (Pay, error) {
	of, currency := p.decider, p.decider.program.Currency
	if len(p.signups) == 0 || c.Customer.PartnerID == nil {
		return Pay{Currency: currency}, nil
	}
	if rules.NeedsOf(p.signups).Has(rules.NeedPartnerCounters) {
		if err := of.countPartner(ctx, c.Partner.ID); err != nil {
			return Pay{}, err
		}
	}
	amount, paid := commission.Signup{
		Customer: c.Customer, ProgramCurrency: currency, PartnerStatus: c.Partner.Status, PartnerGroupID: c.Partner.GroupID,
		PartnerCountry: c.Partner.CountryCode, ClickCountry: opt.OrNil(c.ClickCountry),
	}.Rehearse(p.signups, c.TagIDs, of.partners[c.Partner.ID])
	return Pay{AmountMinor: amount, Currency: paid}, nil
}
