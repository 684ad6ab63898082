package sale

import (
	"context"
	"errors"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/money/commission"
	"rail/server/money/rules"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/work"
)

const (
	// maxRehearsed and rehearsalTime bound one rehearsal.
	maxRehearsed  = 10_000
	rehearsalTime = 5 * time.Second
	// rehearsalPage is how many sales are in memory at a time, each with up to 32 kB of
	// metadata.
	rehearsalPage = 500
	// maxExamples bounds the listed examples.
	maxExamples = 20
	// maxRehearsals bounds the concurrent rehearsals of a server.
	maxRehearsals = 2
)

// rehearsals is a semaphore for running rehearsals.
var rehearsals = make(chan struct{}, maxRehearsals)

// Pay is the commission of a sale; nothing without a flow.
type Pay struct {
	AmountMinor      int64
	Currency         string
	FlowID, BranchID *string
}

// Example is a sale whose commission would have been different.
type Example struct {
	Sale          db.Sale
	Before, After Pay
}

// Rehearsal compares the commissions of sales under the present flows with those after a change to one flow.
// Sums are minor units by currency.
type Rehearsal struct {
	Sales, Changed int64
	Complete       bool // no sale of the period was left out
	Before, After  map[string]int64
	Examples       []Example
}

// Rehearse decides the sales since a given time again, under the present flows and with the draft among them. It
// reads outside of any transaction and changes nothing. Customers and partners are as they are now, but a
// customer's counters are those at each sale.
func Rehearse(ctx context.Context, u *work.Unit, draft db.Flow, since clock.Time) (Rehearsal, error) {
	end, err := BeginRehearsal(ctx)
	if err != nil {
		return Rehearsal{}, err
	}
	defer end()
	d, err := newRehearsal(ctx, u.Outside(), draft)
	if err != nil {
		return Rehearsal{}, err
	}
	looking, stop := context.WithTimeout(ctx, rehearsalTime)
	defer stop()
	err = d.run(looking, since)
	if ctx.Err() == nil && looking.Err() != nil { // only the rehearsal's time is up: the sales read so far count
		err = nil
	}
	return d.out, err
}

// BeginRehearsal waits until a rehearsal may run on this server. The caller calls end after it.
func BeginRehearsal(ctx context.Context) (end func(), err error) {
	select {
	case rehearsals <- struct{}{}:
		return func() { <-rehearsals }, nil
	case <-ctx.Done():
		return nil, problem.Away(ctx.Err())
	}
}

// decider decides recorded sales of a program again, under its flows and under changed ones.
type decider struct {
	u             *work.Unit
	program       db.Program
	before, after []rules.Flow
	partners      map[string]*rules.PartnerCounters // each read once
	out           Rehearsal
}

// newRehearsal reads the flows, and adds the draft: in place of the stored flow, or not at all if it is inactive.
func newRehearsal(ctx context.Context, u *work.Unit, draft db.Flow) (*decider, error) {
	d := &decider{
		u: u, partners: map[string]*rules.PartnerCounters{},
		out: Rehearsal{Before: map[string]int64{}, After: map[string]int64{}},
	}
	var err error
	if d.program, err = u.Program(ctx, draft.ProgramID); err != nil {
		return nil, err
	}
	stored, err := queries.FlowsActive(ctx, u.DB(), db.FlowsActiveParams{
		ProgramID: draft.ProgramID, OrgID: u.OrgID, Trigger: rules.NewPayment,
	})
	if err != nil {
		return nil, err
	}
	if d.before, err = commission.Parse(stored); err != nil {
		return nil, err
	}
	changed := make([]db.Flow, 0, len(stored)+1)
	for _, f := range stored {
		if f.ID != draft.ID {
			changed = append(changed, f)
		}
	}
	if draft.Status == db.FlowStatusActive && draft.Trigger == rules.NewPayment {
		changed = append(changed, draft)
	}
	d.after, err = commission.Parse(changed)
	return d, err
}

// run reads the sales page by page, the latest first.
func (d *decider) run(ctx context.Context, since clock.Time) error {
	at := db.RehearsalProgramSalesParams{
		ProgramID: d.program.ID, OrgID: d.u.OrgID, Since: since, BeforeAt: d.u.Now.Plus(maxAhead), Lim: rehearsalPage,
	}
	for d.out.Sales < maxRehearsed {
		rows, err := queries.RehearsalProgramSales(ctx, d.u.DB(), at)
		if err != nil {
			return err
		}
		if err := d.decidePage(ctx, rows); err != nil {
			return err
		}
		if len(rows) < rehearsalPage {
			d.out.Complete = true
			return nil
		}
		last := rows[len(rows)-1].Sale
		at.BeforeAt, at.BeforeID = last.OccurredAt, last.ID
	}
	return nil
}

// decidePage decides a page of sales.
func (d *decider) decidePage(ctx context.Context, rows []db.RehearsalProgramSalesRow) error {
	recordings, err := d.withCounters(ctx, rows)
	if err != nil {
		return err
	}
	for i, r := range recordings {
		before, err := r.pays(d.before)
		if err != nil {
			return err
		}
		after, err := r.pays(d.after)
		if err != nil {
			return err
		}
		d.out.add(Example{rows[i].Sale, before, after})
	}
	return nil
}

// add adds a sale to the sums.
func (o *Rehearsal) add(e Example) {
	o.Sales++
	for _, side := range []struct {
		pay Pay
		sum map[string]int64
	}{{e.Before, o.Before}, {e.After, o.After}} {
		if side.pay.FlowID != nil {
			side.sum[side.pay.Currency] += side.pay.AmountMinor
		}
	}
	if e.Before.AmountMinor == e.After.AmountMinor && e.Before.Currency == e.After.Currency {
		return
	}
	if o.Changed++; len(o.Examples) < maxExamples {
		o.Examples = append(o.Examples, e)
	}
}

// withCounters returns sales as if they were recorded now, with the counters that conditions need.
func (d *decider) withCounters(ctx context.Context, rows []db.RehearsalProgramSalesRow) ([]recording, error) {
	customers, err := d.count(ctx, rows)
	if err != nil {
		return nil, err
	}
	out := make([]recording, len(rows))
	for i, row := range rows {
		out[i] = d.recording(row)
		facts := &out[i].facts
		if n, counted := customers[row.Sale.ID]; counted {
			facts.Customer.Counters = &n
		}
		facts.Partner.Counters = d.partners[facts.Partner.ID]
	}
	return out, nil
}

// recording returns the sale as if it were recorded now.
func (d *decider) recording(row db.RehearsalProgramSalesRow) recording {
	s := row.Sale
	r := recording{
		charge: charge{
			ProgramID: s.ProgramID, CustomerID: s.CustomerID, AmountMinor: s.AmountMinor, TaxMinor: s.TaxMinor,
			FeeMinor: s.FeeMinor, Currency: s.Currency, BillingType: s.BillingType, Interval: s.Interval,
			ProductID: s.ProductID, ProductName: s.ProductName, OccurredAt: s.OccurredAt, Metadata: s.Metadata,
		},
		customerExists: true, history: db.SaleHistoryRow{HasSales: !s.IsFirstSale},
		who: db.SaleCustomerRow{
			Customer: row.Customer, ProgramID: d.program.ID, ProgramCurrency: d.program.Currency,
			CommissionOnNetRevenue: d.program.CommissionOnNetRevenue, CommissionNetOfFee: d.program.CommissionNetOfFee,
			HoldingPeriodDays: d.program.HoldingPeriodDays, PartnerStatus: string(row.PartnerStatus),
			PartnerGroupID: row.PartnerGroupID, PartnerCountry: row.PartnerCountry, RateOverride: row.RateOverride,
			ClickCountry: row.ClickCountry, TagIds: row.TagIds, EnrolsFirstCommission: d.program.EnrolsFirstCommission,
			BlockSelfReferrals: d.program.BlockSelfReferrals,
		},
	}
	r.who.Customer.PartnerID = s.PartnerID // the partner who earned, regardless of later changes
	r.facts = r.toFacts()
	return r
}

// pays returns the commission of the sale under flows.
func (r *recording) pays(flows []rules.Flow) (Pay, error) {
	r.flows = flows
	earned, _, err := r.decide("")
	if err != nil || earned == nil {
		return Pay{Currency: r.Currency}, err
	}
	return Pay{
		AmountMinor: earned.Amount, Currency: earned.Currency, FlowID: &earned.Choice.FlowID,
		BranchID: earned.Choice.BranchID,
	}, nil
}

// count reads the counters that conditions need: a customer's at each sale, a partner's as they are now.
func (d *decider) count(
	ctx context.Context, rows []db.RehearsalProgramSalesRow,
) (map[string]rules.CustomerCounters, error) {
	needs := rules.NeedsOf(d.before) | rules.NeedsOf(d.after)
	out := map[string]rules.CustomerCounters{}
	if needs.Has(rules.NeedPartnerCounters) {
		for _, r := range rows {
			if err := d.countPartner(ctx, opt.Value(r.Sale.PartnerID)); err != nil {
				return nil, err
			}
		}
	}
	if !needs.Has(rules.NeedCustomerCounters) || len(rows) == 0 {
		return out, nil
	}
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.Sale.ID
	}
	counted, err := queries.RehearsalSaleCounters(ctx, d.u.DB(), db.RehearsalSaleCountersParams{
		Currency: d.program.Currency, OrgID: d.u.OrgID, Ids: ids,
	})
	for _, k := range counted {
		out[k.ID] = rules.CustomerCounters{SalesCount: k.SalesCount, TotalPaidMinor: k.TotalPaidMinor}
	}
	return out, err
}

// countPartner reads the counters of a partner that are not loaded yet.
func (d *decider) countPartner(ctx context.Context, id string) error {
	if d.partners[id] != nil {
		return nil
	}
	n, err := queries.SalePartnerCounters(ctx, d.u.DB(), db.SalePartnerCountersParams{
		ProgramID: d.program.ID, PartnerID: id, Currency: d.program.Currency, OrgID: d.u.OrgID,
	})
	if err != nil {
		return errors.Join(errors.New("counters of "+id), err)
	}
	d.partners[id] = &rules.PartnerCounters{
		LeadsCount: n.LeadsCount, CustomersCount: n.CustomersCount, SalesCount: n.SalesCount,
		RevenueMinor: n.RevenueMinor, CommissionsMinor: n.CommissionsMinor,
	}
	return nil
}
