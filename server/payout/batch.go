package payout

import (
	"context"
	"fmt"
	"slices"
	"time"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/call"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/pgtx"
)

// Order is what a batch is asked to collect. PartnerID and GroupID narrow it.
type Order struct {
	Program            db.Program // locked
	PeriodEnd          clock.Time
	PartnerID, GroupID *string
	IgnoreMinimum      bool
	HoldOnHighRisk     bool // keep partners with an open high risk flag out
}

// terms are the days from the period's end to the day on which payouts are due.
var terms = map[string]int{"net_15": 15, "net_30": 30, "net_60": 60}

// month is the first day of the period's month, which makes a batch idempotent.
func (o Order) month() time.Time {
	return time.Date(o.PeriodEnd.Year(), o.PeriodEnd.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// dueAt is midnight of the period's last day plus the term (decisions, 123).
func (o Order) dueAt() clock.Time {
	day := time.Date(o.PeriodEnd.Year(), o.PeriodEnd.Month(), o.PeriodEnd.Day(), 0, 0, 0, 0, time.UTC)
	return clock.At(day.AddDate(0, 0, terms[o.Program.PayoutTerm]))
}

// Generate turns what is due into payouts, one a partner and currency, and
// returns the month's batch; created tells whether it is new. Partners that
// have a payout this month are passed over, and those that were not eligible
// are judged again (decisions, 115 to 122). No money moves.
func Generate(ctx context.Context, c *call.Call, o Order) (b db.PayoutBatch, created bool, err error) {
	b, created, err = batchOf(ctx, c, o)
	if err != nil {
		return b, created, err
	}
	partners, err := queries.BatchPartners(ctx, c.Tx, db.BatchPartnersParams{
		ProgramID: o.Program.ID, OrgID: c.Key.OrgID, PartnerID: o.PartnerID, GroupID: o.GroupID,
	})
	if err != nil || len(partners) == 0 {
		return b, created, err
	}
	ids := make([]string, len(partners))
	for i, p := range partners {
		ids[i] = p.ID
	}
	var due []db.Commission
	var present []db.Payout
	var taxed, held []string
	err = c.Together(ctx,
		func(tx pgtx.DBTX) (err error) {
			due, err = queries.BatchCommissions(ctx, tx, db.BatchCommissionsParams{ProgramID: o.Program.ID, OrgID: c.Key.OrgID, PartnerIds: ids, PeriodEnd: &o.PeriodEnd})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			present, err = queries.BatchPayouts(ctx, tx, db.BatchPayoutsParams{ProgramID: o.Program.ID, OrgID: c.Key.OrgID, PeriodMonth: o.month(), PartnerIds: ids})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			taxed, err = queries.TaxFormsValid(ctx, tx, db.TaxFormsValidParams{ProgramID: o.Program.ID, OrgID: c.Key.OrgID, PartnerIds: ids, Now: &c.Now})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			held, err = queries.RiskHeld(ctx, tx, db.RiskHeldParams{ProgramID: o.Program.ID, OrgID: c.Key.OrgID, PartnerIds: ids})
			return err
		})
	if err != nil {
		return b, created, err
	}
	for _, s := range sums(partners, due, present) {
		s.taxed, s.held = slices.Contains(taxed, s.partner.ID), o.HoldOnHighRisk && slices.Contains(held, s.partner.ID)
		if err := s.enter(ctx, c, o, b); err != nil {
			return b, created, err
		}
	}
	return b, created, nil
}

// batchOf finds or makes the month's batch.
func batchOf(ctx context.Context, c *call.Call, o Order) (db.PayoutBatch, bool, error) {
	b, err := queries.BatchOfMonth(ctx, c.Tx, db.BatchOfMonthParams{ProgramID: o.Program.ID, OrgID: c.Key.OrgID, PeriodMonth: o.month()})
	if err == nil {
		if o.PeriodEnd.After(b.PeriodEnd.Time) {
			b.PeriodEnd = o.PeriodEnd
		}
		b.UpdatedAt = c.Now
		return b, false, queries.BatchTouch(ctx, c.Later(), db.BatchTouchParams{PeriodEnd: b.PeriodEnd, UpdatedAt: c.Now, ID: b.ID, OrgID: b.OrgID})
	}
	if pgtx.First([]error{err}) != nil {
		return b, false, err
	}
	b = db.PayoutBatch{
		ID: ident.New(ident.Batch), OrgID: c.Key.OrgID, ProgramID: o.Program.ID, PeriodMonth: o.month(), PeriodEnd: o.PeriodEnd, CreatedAt: c.Now, UpdatedAt: c.Now,
	}
	return b, true, queries.BatchInsert(ctx, c.Later(), db.BatchInsertParams(b))
}

// sum is what is due to one partner in one currency.
type sum struct {
	partner     db.Partner
	currency    string
	amount      int64
	commissions []string
	present     *db.Payout // of this month
	taxed       bool       // the partner has a valid tax form
	held        bool       // a risk flag holds the money back
}

// sums nets by partner and currency; what nets to nothing is carried on.
func sums(partners []db.Partner, due []db.Commission, present []db.Payout) []*sum {
	var out []*sum
	var last *sum
	for _, k := range due { // ordered by partner and currency
		if last == nil || last.partner.ID != k.PartnerID || last.currency != k.Currency {
			at := slices.IndexFunc(partners, func(p db.Partner) bool { return p.ID == k.PartnerID })
			last = &sum{partner: partners[at], currency: k.Currency}
			out = append(out, last)
		}
		last.amount += k.AmountMinor
		last.commissions = append(last.commissions, k.ID)
	}
	for i, p := range present {
		for _, s := range out {
			if s.partner.ID == p.PartnerID && s.currency == p.Currency {
				s.present = &present[i]
			}
		}
	}
	return slices.DeleteFunc(out, func(s *sum) bool {
		return s.amount <= 0 || s.present != nil && s.present.Status != "not_eligible"
	})
}

// enter writes the payout that the sum makes.
func (s *sum) enter(ctx context.Context, c *call.Call, o Order, b db.PayoutBatch) error {
	reason, text := s.verdict(o)
	p := db.Payout{
		ID: ident.New(ident.Payout), OrgID: c.Key.OrgID, ProgramID: o.Program.ID, PartnerID: s.partner.ID, BatchID: b.ID, AmountMinor: s.amount,
		Currency: s.currency, Status: "pending", Method: s.partner.PayoutMethod, PeriodMonth: o.month(), PeriodEnd: o.PeriodEnd, DueAt: o.dueAt(),
		CreatedAt: c.Now, UpdatedAt: c.Now,
	}
	if reason != "" {
		p.Status, p.Reason, p.ReasonText = "not_eligible", &reason, &text
	}
	if err := s.store(ctx, c, &p); err != nil {
		return err
	}
	if p.Status == "not_eligible" {
		if s.present == nil || *s.present.Reason != reason {
			c.Events.Record("payout.not_eligible", about(p), api.PayoutNotEligibleData{
				PayoutID: p.ID, PartnerID: p.PartnerID, AmountMinor: p.AmountMinor, Currency: p.Currency, Reason: api.PayoutIneligibilityReason(reason), ReasonText: text,
			})
		}
		return nil
	}
	c.Events.Record("payout.created", about(p), api.PayoutCreatedData{
		PayoutID: p.ID, BatchID: p.BatchID, PartnerID: p.PartnerID, AmountMinor: p.AmountMinor, Currency: p.Currency, Status: api.PayoutStatus(p.Status), DueAt: p.DueAt,
	})
	return queries.PayoutAttach(ctx, c.Later(), db.PayoutAttachParams{PayoutID: &p.ID, UpdatedAt: c.Now, Ids: s.commissions, OrgID: p.OrgID})
}

// store inserts the payout, or judges the month's ineligible one again under
// its own id.
func (s *sum) store(ctx context.Context, c *call.Call, p *db.Payout) error {
	if s.present != nil {
		p.ID = s.present.ID
		return queries.PayoutReevaluate(ctx, c.Later(), db.PayoutReevaluateParams{
			AmountMinor: p.AmountMinor, Status: p.Status, Method: p.Method, Reason: p.Reason, ReasonText: p.ReasonText, PeriodEnd: p.PeriodEnd, DueAt: p.DueAt,
			UpdatedAt: c.Now, ID: p.ID, OrgID: p.OrgID,
		})
	}
	return queries.PayoutInsert(ctx, c.Later(), db.PayoutInsertParams{
		ID: p.ID, OrgID: p.OrgID, ProgramID: p.ProgramID, PartnerID: p.PartnerID, BatchID: p.BatchID, AmountMinor: p.AmountMinor, Currency: p.Currency,
		Status: p.Status, Method: p.Method, Reason: p.Reason, ReasonText: p.ReasonText, PeriodMonth: p.PeriodMonth, PeriodEnd: p.PeriodEnd, DueAt: p.DueAt,
		CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
	})
}

// verdict returns the first check that fails, and a sentence with its numbers
// (decisions, 119 to 122); empty for an eligible partner.
func (s *sum) verdict(o Order) (reason, text string) {
	least := o.Program.MinPayoutMinor
	if s.partner.MinPayoutMinor != nil {
		least = *s.partner.MinPayoutMinor
	}
	method := s.partner.PayoutMethod
	switch {
	case s.partner.Status != "active":
		return "partner_not_active", fmt.Sprintf("The partner is %s; only active partners are paid.", s.partner.Status)
	case !o.IgnoreMinimum && s.currency == o.Program.Currency && s.amount < least:
		return "below_minimum", fmt.Sprintf("%d %s minor units are due; the minimum is %d.", s.amount, s.currency, least)
	case len(o.Program.PayoutMethods) > 0 && (method == nil || !slices.Contains(o.Program.PayoutMethods, *method)):
		return "no_payout_method", fmt.Sprintf("%d %s minor units are due, but the partner has chosen none of the program's payout methods.", s.amount, s.currency)
	case o.Program.RequireTaxForms && !s.taxed:
		return "tax_form_missing", fmt.Sprintf("%d %s minor units are due, but the partner has no valid tax form.", s.amount, s.currency)
	case s.held:
		return "risk_review", fmt.Sprintf("%d %s minor units are due, but a high risk flag of the partner is open.", s.amount, s.currency)
	}
	return "", ""
}
