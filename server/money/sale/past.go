package sale

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/money/commission"
	"rail/server/money/rules"
	"rail/server/opt"
	"rail/server/work"
)

// newDecider returns a decider under the present flows of a program.
func newDecider(ctx context.Context, u *work.Unit, p db.Program) (*decider, error) {
	stored, err := queries.FlowsActive(ctx, u.DB(), db.FlowsActiveParams{
		ProgramID: p.ID, OrgID: u.OrgID, Trigger: rules.NewPayment,
	})
	if err != nil {
		return nil, err
	}
	flows, err := commission.Parse(stored)
	return &decider{u: u, program: p, partners: map[string]*rules.PartnerCounters{}, before: flows, after: flows}, err
}

// pastSale is a recorded sale as if it were recorded now, with its amounts before any refund.
type pastSale struct {
	*recording
	sale db.Sale // the stored row
}

// beforeRefunds returns a partly refunded sale with its amounts before the refunds.
func beforeRefunds(s db.Sale) db.Sale {
	if s.RefundedAt == nil && s.RefundedMinor > 0 {
		first := s.AmountMinor + s.RefundedMinor
		if s.TaxMinor != nil {
			s.TaxMinor = new(min(rules.Prorated(*s.TaxMinor, first, s.AmountMinor), first))
		}
		s.AmountMinor = first
	}
	return s
}

// decide returns the commission of the sale after its refunds, or the reason for none.
func (p pastSale) decide() (*commission.Earning, *api.SaleWarning, error) {
	e, warning, err := p.recording.decide(p.sale.ID)
	if e == nil || p.sale.RefundedMinor == 0 {
		return e, warning, err
	}
	taken := func(n int64) int64 { return rules.RefundShare(n, p.AmountMinor, 0, p.sale.RefundedMinor, 0) }
	e.Shrunk, e.BaseShrunk = taken(e.Amount), taken(opt.Value(e.Base))
	if e.Shrunk == e.Amount {
		return nil, warn(rules.WarnNoCommission, "Refunds took the whole commission."), nil
	}
	return e, nil, nil
}

// recordings returns recorded sales as if they were recorded now, with the counters that conditions need. A sale
// without a partner is read under partnerID, and left out if that is nil.
func (d *decider) recordings(ctx context.Context, sales []db.Sale, partnerID *string) ([]pastSale, error) {
	ids := make([]string, len(sales))
	for i, s := range sales {
		ids[i] = s.ID
	}
	past, err := queries.SalesForRules(ctx, d.u.DB(), db.SalesForRulesParams{
		PartnerID: partnerID, Ids: ids, OrgID: d.u.OrgID,
	})
	if err != nil {
		return nil, err
	}
	rows := make([]db.RehearsalProgramSalesRow, len(past))
	out := make([]pastSale, len(past))
	for i, row := range past {
		rows[i] = db.RehearsalProgramSalesRow(row)
		if rows[i].Sale.PartnerID == nil {
			rows[i].Sale.PartnerID = partnerID
		}
		out[i].sale = rows[i].Sale
		rows[i].Sale = beforeRefunds(rows[i].Sale)
	}
	recordings, err := d.withCounters(ctx, rows)
	if err != nil {
		return nil, err
	}
	for i := range recordings {
		out[i].recording = &recordings[i]
		out[i].flows = d.before
	}
	return out, nil
}

// setManual decides as if the customer had been reassigned: without its route (decisions, 87).
func (p pastSale) setManual() {
	k := &p.facts.Customer
	k.TrackedBy, k.LinkID, k.CouponID, k.Country = string(db.TrackedByManual), nil, nil, nil
	p.who.RateOverride = nil
}

// countSale adds the sale to its partner's counters, as its recording did.
func (p pastSale) countSale() {
	n := p.facts.Partner.Counters
	if n == nil {
		return
	}
	if n.SalesCount++; p.Currency == p.who.ProgramCurrency {
		n.RevenueMinor += p.sale.AmountMinor
	}
}

// countCommission adds a commission of the sale to its partner's counters.
func (p pastSale) countCommission(minor int64, currency string) {
	if n := p.facts.Partner.Counters; n != nil && currency == p.who.ProgramCurrency {
		n.CommissionsMinor += minor
	}
}
