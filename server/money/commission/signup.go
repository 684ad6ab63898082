package commission

import (
	"context"

	"rail/gen/db"
	"rail/server/money/rules"
	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// Signup is a newly written customer with its attribution.
type Signup struct {
	Customer          db.Customer
	ProgramCurrency   string
	HoldingPeriodDays int64
	PartnerStatus     db.PartnerStatus
	PartnerGroupID    *string
	PartnerCountry    *string
	ClickCountry      *string
}

// SignupFlows returns the parameters for reading the flows of a sign-up with the partner. The caller adds the
// read to a round trip.
func SignupFlows(u *work.Unit, partnerID string) db.FlowsForPartnerParams {
	return db.FlowsForPartnerParams{PartnerID: &partnerID, OrgID: u.OrgID, Trigger: rules.NewSignup}
}

// ForSignup applies the flows to a sign-up; stored is the result of the read of SignupFlows. It costs one round
// trip if conditions need counters or tags, and one if this server has not parsed the flows yet.
func ForSignup(ctx context.Context, u *work.Unit, s Signup, stored []db.FlowsForPartnerRow) error {
	if len(stored) == 0 || s.Customer.PartnerID == nil || s.PartnerStatus != db.PartnerStatusActive ||
		s.Customer.Status == db.CustomerStatusSuspended {
		return nil
	}
	facts := s.facts()
	flows, err := LoadFlows(ctx, u, SignupFlows(u, facts.Partner.ID), stored, &facts)
	if err != nil {
		return err
	}
	if err := s.count(ctx, u, rules.NeedsOf(flows), &facts); err != nil {
		return err
	}
	// The partner's present group decides which flow pays.
	if choice, ok := rules.Choose(flows, &facts); ok {
		if err := s.pay(ctx, u, choice); err != nil {
			return err
		}
	}
	return SwitchGroup(ctx, u, s.Customer.ProgramID, s.PartnerStatus, flows, &facts)
}

// Rehearse returns the commission that flows would pay for the sign-up; 0 for none. The tags and counters are those of
// the partner.
func (s Signup) Rehearse(flows []rules.Flow, tags []string, n *rules.PartnerCounters) (minor int64, currency string) {
	if s.PartnerStatus != db.PartnerStatusActive || s.Customer.Status == db.CustomerStatusSuspended {
		return 0, s.ProgramCurrency
	}
	facts := s.facts()
	facts.Partner.TagIDs, facts.Partner.Counters = tags, n
	choice, ok := rules.Choose(flows, &facts)
	if !ok {
		return 0, s.ProgramCurrency
	}
	minor, currency, _ = rules.Compute(choice, nil, 0, s.ProgramCurrency, s.ProgramCurrency)
	return minor, currency
}

// facts returns the facts that conditions can read at a sign-up: there is no sale, and the customer has not
// converted.
func (s Signup) facts() rules.Facts {
	k := s.Customer
	return rules.Facts{
		ProgramCurrency: s.ProgramCurrency,
		Customer: rules.CustomerFacts{
			LeadAt: &k.LeadAt, TrackedBy: string(k.TrackedBy), CouponID: k.CouponID, LinkID: k.LinkID, Identifier: k.Identifier,
			Metadata: k.Metadata, Country: s.ClickCountry,
		},
		Partner: rules.PartnerFacts{ID: *k.PartnerID, GroupID: s.PartnerGroupID, CountryCode: s.PartnerCountry},
	}
}

// count reads tags and counters with the partner locked, so that two sign-ups cannot both be the tenth. The
// counters include the new customer as a lead.
func (s Signup) count(ctx context.Context, u *work.Unit, needs rules.Needs, f *rules.Facts) error {
	if !needs.Has(rules.NeedPartnerCounters | rules.NeedPartnerTags) {
		return nil
	}
	var counted db.SalePartnerCountersRow
	var tags []db.TagsOfPartnersRow
	org := u.OrgID
	err := u.Together(ctx,
		func(tx pgtx.DBTX) error {
			_, err := queries.PartnerLock(ctx, tx, db.PartnerLockParams{ID: f.Partner.ID, OrgID: org})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			counted, err = queries.SalePartnerCounters(ctx, tx, db.SalePartnerCountersParams{
				ProgramID: s.Customer.ProgramID, PartnerID: f.Partner.ID, Currency: s.ProgramCurrency, OrgID: org,
			})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			tags, err = queries.TagsOfPartners(ctx, tx, db.TagsOfPartnersParams{PartnerIds: []string{f.Partner.ID}, OrgID: org})
			return err
		})
	if err != nil {
		return err
	}
	for _, t := range tags {
		f.Partner.TagIDs = append(f.Partner.TagIDs, t.Tag.ID)
	}
	f.Partner.Counters = &rules.PartnerCounters{
		LeadsCount: counted.LeadsCount, CustomersCount: counted.CustomersCount, SalesCount: counted.SalesCount,
		RevenueMinor: counted.RevenueMinor, CommissionsMinor: counted.CommissionsMinor,
	}
	return nil
}

// pay creates the commission of a sign-up. There is no revenue, so only a fixed amount pays; the holding period
// starts now. The partner is read again: writing the customer's row blocks a ban until the commit, but a ban may
// have been committed before.
func (s Signup) pay(ctx context.Context, u *work.Unit, choice rules.Choice) error {
	var partner db.Partner
	err := u.Read(ctx, func(tx pgtx.DBTX) (err error) {
		partner, err = queries.PartnerGet(ctx, tx, db.PartnerGetParams{ID: *s.Customer.PartnerID, OrgID: u.OrgID})
		return err
	})
	if err != nil || partner.Status != db.PartnerStatusActive {
		return err
	}
	amount, currency, reason := rules.Compute(choice, nil, 0, s.ProgramCurrency, s.ProgramCurrency)
	if reason != "" {
		return nil
	}
	e := Earning{
		ProgramID: s.Customer.ProgramID, PartnerID: *s.Customer.PartnerID, CustomerID: s.Customer.ID, Choice: choice,
		Rate: rules.Rate{RateType: choice.RateType, RateValue: choice.RateValue}, Amount: amount, Currency: currency,
		MatureAt: rules.MatureAt(u.Now, s.HoldingPeriodDays), Enrols: true,
	}
	_, err = e.Write(ctx, u)
	return err
}
