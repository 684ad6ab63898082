package payout

import (
	"context"
	"fmt"
	"slices"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/locale/currency"
	"rail/server/money/ledger"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// pageSize is how many partners one transaction of a batch collects. A request does one page, which must fit
// well into its time limit; a page costs the same number of statements for any number of partners.
const pageSize = 500

// page holds the data of one page of a batch. Its partners are locked.
type page struct {
	order          Order
	batch          db.PayoutBatch
	partners       map[string]db.Partner
	due            []db.BatchCommissionsRow // by partner and currency
	present        map[monthKey]db.Payout   // of this month
	changed        map[string]clock.Time    // payout details changed since the last payout; in previews only
	taxed, flagged map[string]bool          // partners with a valid tax form, and with an open high risk flag
	newcomers      map[string]int64         // paying customers of never paid partners who have too few
}

// monthKey identifies a monthly payout by partner and currency.
type monthKey struct{ partnerID, currency string }

// page collects the partners that follow an id. It returns the last of them if more follow.
func (o Order) page(ctx context.Context, u *work.Unit, b db.PayoutBatch, after string) (last string, err error) {
	partners, err := queries.BatchPartners(ctx, u.Tx, db.BatchPartnersParams{
		ProgramID: o.Program.ID, OrgID: u.OrgID, After: after, PartnerID: o.PartnerID, GroupID: o.GroupID,
		PeriodEnd: &o.PeriodEnd, Now: &u.Now, Sample: u.Sample, Lim: pageSize + 1,
	})
	if err != nil || len(partners) == 0 {
		return "", err
	}
	if len(partners) > pageSize {
		partners = partners[:pageSize]
		last = partners[pageSize-1].ID
	}
	p, err := o.read(ctx, u, b, partners)
	if err != nil {
		return "", err
	}
	return last, p.write(ctx, u)
}

// read moves matured commissions to due, and reads everything that decides on the partners, in one round trip.
func (o Order) read(ctx context.Context, u *work.Unit, b db.PayoutBatch, partners []db.Partner) (page, error) {
	p, ids := o.empty(partners)
	p.batch = b
	var matured, approved []db.Commission
	var present []db.Payout
	program, org, first, last := o.Program.ID, u.OrgID, ids[0], ids[len(ids)-1]
	err := u.Together(ctx, append([]pgtx.Read{
		func(tx pgtx.DBTX) (err error) {
			matured, err = queries.BatchMature(ctx, tx, db.BatchMatureParams{
				Now: u.Now, ProgramID: program, OrgID: org, FirstID: first, LastID: last, PartnerIds: ids, PeriodEnd: &o.PeriodEnd,
			})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			approved, err = queries.BatchApprove(ctx, tx, db.BatchApproveParams{
				Now: &u.Now, ProgramID: program, OrgID: org, FirstID: first, LastID: last, PartnerIds: ids, PeriodEnd: &o.PeriodEnd,
			})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			p.due, err = queries.BatchCommissions(ctx, tx, db.BatchCommissionsParams{
				ProgramID: program, OrgID: org, FirstID: first, LastID: last, PartnerIds: ids, PeriodEnd: &o.PeriodEnd,
			})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			present, err = queries.BatchPayouts(ctx, tx, db.BatchPayoutsParams{
				ProgramID: program, OrgID: org, FirstID: first, LastID: last, PartnerIds: ids, PeriodMonth: o.month(),
			})
			return err
		},
	}, p.checks(ctx, u, ids)...)...)
	if err != nil {
		return *p, err
	}
	p.setPresent(present)
	if err := ledger.Moved(ctx, u, db.CommissionStatusApproved, matured...); err != nil {
		return *p, err
	}
	return *p, ledger.Moved(ctx, u, db.CommissionStatusPending, approved...)
}

// empty returns a page of the partners without data, and their ids.
func (o Order) empty(partners []db.Partner) (p *page, ids []string) {
	p = &page{order: o, partners: map[string]db.Partner{}, present: map[monthKey]db.Payout{}}
	for _, partner := range partners {
		ids, p.partners[partner.ID] = append(ids, partner.ID), partner
	}
	return p, ids
}

// checks returns the reads of the partners' requirements.
func (p *page) checks(ctx context.Context, u *work.Unit, ids []string) []pgtx.Read {
	program := p.order.Program.ID
	return []pgtx.Read{
		func(tx pgtx.DBTX) error {
			taxed, err := queries.TaxFormsValid(ctx, tx, db.TaxFormsValidParams{
				ProgramID: program, OrgID: u.OrgID, PartnerIds: ids, Now: &u.Now,
			})
			p.taxed = set(taxed)
			return err
		},
		func(tx pgtx.DBTX) error {
			flagged, err := queries.RiskPartnersFlagged(ctx, tx, db.RiskPartnersFlaggedParams{
				ProgramID: program, OrgID: u.OrgID, PartnerIds: ids,
			})
			p.flagged = set(flagged)
			return err
		},
		func(tx pgtx.DBTX) error { return p.readNewcomers(ctx, tx, ids) },
	}
}

// readNewcomers reads the partners who have too few paying customers for a first payout.
func (p *page) readNewcomers(ctx context.Context, tx pgtx.DBTX, ids []string) error {
	program := p.order.Program
	if program.MinPayingCustomers == 0 {
		return nil
	}
	rows, err := queries.PartnersBelowCustomers(ctx, tx, db.PartnersBelowCustomersParams{
		Least: program.MinPayingCustomers, ProgramID: program.ID, OrgID: program.OrgID, PartnerIds: ids,
	})
	p.newcomers = map[string]int64{}
	for _, row := range rows {
		p.newcomers[row.ID] = row.Customers
	}
	return err
}

// setPresent notes the month's existing payouts.
func (p *page) setPresent(present []db.Payout) {
	for _, y := range present {
		p.present[monthKey{y.PartnerID, y.Currency}] = y
	}
}

func set(ids []string) map[string]bool {
	out := make(map[string]bool, len(ids))
	for _, id := range ids {
		out[id] = true
	}
	return out
}

// payouts returns the payouts that the page creates or evaluates again, with the commissions of each. Amounts
// that net to zero or less are carried over.
func (p page) payouts(u *work.Unit) (out []db.Payout, collected [][]string) {
	o := p.order
	for _, d := range p.due {
		outcome, reason, text := p.outcome(d)
		if outcome == Carried || outcome == NextMonth {
			continue
		}
		y := db.Payout{
			ID:          u.NewID(ident.Payout),
			OrgID:       u.OrgID,
			ProgramID:   o.Program.ID,
			PartnerID:   d.PartnerID,
			BatchID:     p.batch.ID,
			AmountMinor: d.AmountMinor,
			Currency:    d.Currency,
			Status:      db.PayoutStatusPending,
			Method:      p.partners[d.PartnerID].PayoutMethod,
			PeriodMonth: o.month(),
			PeriodEnd:   o.PeriodEnd,
			DueAt:       o.dueAt(),
		}
		if present, ok := p.present[monthKey{d.PartnerID, d.Currency}]; ok {
			y.ID = present.ID
		}
		if outcome == NotEligible {
			y.Status, y.Reason, y.ReasonText = db.PayoutStatusNotEligible, &reason, &text
		}
		out, collected = append(out, y), append(collected, d.Ids)
	}
	return out, collected
}

// write writes the page's payouts with one statement per table: new ones, and the month's ineligible ones under
// their ids.
func (p page) write(ctx context.Context, u *work.Unit) error {
	o := p.order
	rows := db.PayoutsInsertParams{
		OrgID: u.OrgID, ProgramID: o.Program.ID, BatchID: p.batch.ID, PeriodMonth: o.month(), PeriodEnd: o.PeriodEnd,
		DueAt: o.dueAt(), Now: u.Now,
	}
	again := db.PayoutsReevaluateParams{PeriodEnd: o.PeriodEnd, DueAt: o.dueAt(), Now: u.Now, OrgID: u.OrgID}
	attached := db.PayoutsAttachParams{Now: u.Now, OrgID: u.OrgID}
	payouts, collected := p.payouts(u)
	if len(payouts) == 0 {
		return nil
	}
	for i, y := range payouts {
		present, ok := p.present[monthKey{y.PartnerID, y.Currency}]
		if ok {
			reevaluate(&again, y)
		} else {
			add(&rows, y)
		}
		if y.Status == db.PayoutStatusPending {
			for _, id := range collected[i] {
				attached.PayoutIds, attached.Ids = append(attached.PayoutIds, y.ID), append(attached.Ids, id)
			}
		}
		recordOutcome(u, y, opt.Value(present.Reason))
	}
	if err := queries.PayoutsInsert(ctx, u.Later(), rows); err != nil {
		return err
	}
	if err := queries.PayoutsReevaluate(ctx, u.Later(), again); err != nil {
		return err
	}
	return queries.PayoutsAttach(ctx, u.Later(), attached)
}

// add appends a new payout to the statement's arrays, one element per column.
func add(p *db.PayoutsInsertParams, y db.Payout) {
	p.Ids = append(p.Ids, y.ID)
	p.PartnerIds = append(p.PartnerIds, y.PartnerID)
	p.Amounts = append(p.Amounts, y.AmountMinor)
	p.Currencies = append(p.Currencies, y.Currency)
	p.Statuses = append(p.Statuses, string(y.Status))
	p.Methods = append(p.Methods, opt.Value(y.Method))
	p.Reasons = append(p.Reasons, opt.Value(y.Reason))
	p.ReasonTexts = append(p.ReasonTexts, opt.Value(y.ReasonText))
}

// reevaluate does the same for a payout that exists.
func reevaluate(p *db.PayoutsReevaluateParams, y db.Payout) {
	p.Ids = append(p.Ids, y.ID)
	p.Amounts = append(p.Amounts, y.AmountMinor)
	p.Statuses = append(p.Statuses, string(y.Status))
	p.Methods = append(p.Methods, opt.Value(y.Method))
	p.Reasons = append(p.Reasons, opt.Value(y.Reason))
	p.ReasonTexts = append(p.ReasonTexts, opt.Value(y.ReasonText))
}

// recordOutcome records the outcome of a payout. If it is ineligible for the same reason as before, there is
// nothing new to record.
func recordOutcome(u *work.Unit, y db.Payout, before string) {
	if y.Status == db.PayoutStatusPending {
		u.Record(about(y), events.PayoutCreated(api.PayoutCreatedData{
			PayoutID: y.ID, BatchID: y.BatchID, PartnerID: y.PartnerID, AmountMinor: y.AmountMinor, Currency: y.Currency,
			Status: api.PayoutStatus(y.Status), DueAt: y.DueAt,
		}))
		return
	}
	if *y.Reason != before {
		u.Record(about(y), events.PayoutNotEligible(api.PayoutNotEligibleData{
			PayoutID: y.ID, PartnerID: y.PartnerID, AmountMinor: y.AmountMinor, Currency: y.Currency,
			Reason: api.PayoutIneligibilityReason(*y.Reason), ReasonText: *y.ReasonText,
		}))
	}
}

// outcome decides on the amount due to a partner in a currency, and explains why it is not paid. The reason is
// for machines, and set only if a check failed.
func (p page) outcome(d db.BatchCommissionsRow) (o Outcome, reason, text string) {
	present, ok := p.present[monthKey{d.PartnerID, d.Currency}]
	switch {
	case d.AmountMinor <= 0:
		return Carried, "", "Clawbacks equal or exceed the amount, so nothing is paid; all of it waits for the next payout."
	// An open or finished payout of the month stays; newer commissions wait for the next month.
	case ok && present.Status != db.PayoutStatusNotEligible:
		return NextMonth, "", fmt.Sprintf(
			"The partner has a payout of this month in %s already; later commissions wait for the next month.", d.Currency)
	}
	if reason, text = p.verdict(d); reason != "" {
		return NotEligible, reason, text
	}
	return Pays, "", ""
}

// verdict returns the first check that fails, and a sentence with its numbers (decisions, 119 to 122); empty for
// an eligible partner.
func (p page) verdict(d db.BatchCommissionsRow) (reason, text string) {
	o, partner := p.order, p.partners[d.PartnerID]
	least := Minimum(o.Program, partner)
	amount := func(minor int64) string { return currency.Decimal(minor, d.Currency) + " " + d.Currency }
	due := amount(d.AmountMinor) + " is due"
	method := partner.PayoutMethod
	switch {
	case partner.Status != db.PartnerStatusActive:
		return "partner_not_active", fmt.Sprintf("The partner is %s; only active partners are paid.", partner.Status)
	// The minimum is in the program's currency; other currencies have none.
	case !o.IgnoreMinimum && d.Currency == o.Program.Currency && d.AmountMinor < least:
		return "below_minimum", due + "; the minimum is " + amount(least) + "."
	case len(o.Program.PayoutMethods) > 0 && (method == nil || !slices.Contains(o.Program.PayoutMethods, *method)):
		return "no_payout_method", due + ", but the partner has chosen none of the program's payout methods."
	case o.Program.RequireTaxForms && !p.taxed[d.PartnerID]:
		return "tax_form_missing", due + ", but the partner has no valid tax form."
	case p.isNewcomer(d.PartnerID):
		return "too_few_customers", fmt.Sprintf("%s, but the partner has %d of the %d paying customers that a first payout needs.",
			due, p.newcomers[d.PartnerID], o.Program.MinPayingCustomers)
	case o.HoldOnHighRisk && p.flagged[d.PartnerID]:
		return "risk_review", due + ", but a high risk flag of the partner is open."
	}
	return "", ""
}

// isNewcomer reports whether a partner has too few paying customers for a first payout.
func (p page) isNewcomer(id string) bool {
	_, ok := p.newcomers[id]
	return ok
}
