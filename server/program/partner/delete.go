package partner

import (
	"cmp"
	"context"
	"slices"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/money/report"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/work"
	"rail/server/work/event"
)

// Delete deletes a partner with everything attributed to it. Its sales stay, as sales without a partner: they
// are the merchant's revenue (decisions, 56 and 177).
func Delete(ctx context.Context, u *work.Unit, id string) error {
	// Customers are locked before their partner, as in a sale; the statement shares the round trip of the partner's
	// lock below.
	owner := db.PartnerLockCustomersParams{PartnerID: id, OrgID: u.OrgID}
	if err := queries.PartnerLockCustomers(ctx, u.Later(), owner); err != nil {
		return err
	}
	// The stronger lock also blocks new rows that would refer to the partner.
	p, err := lock(ctx, u, id, true)
	if err != nil {
		return err
	}
	var open []db.PayoutStatus
	var commissions []db.Commission
	var flows []db.PartnerDeleteFlowsRow
	if err := u.Together(ctx,
		func(tx pgtx.DBTX) (err error) {
			open, err = queries.PartnerOpenPayouts(ctx, tx, db.PartnerOpenPayoutsParams{
				ProgramID: p.ProgramID, OrgID: p.OrgID, PartnerID: p.ID,
			})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			commissions, err = queries.PartnerCommissions(ctx, tx, db.PartnerCommissionsParams{
				PartnerID: p.ID, ProgramID: p.ProgramID, OrgID: p.OrgID,
			})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			flows, err = queries.PartnerDeleteFlows(ctx, tx, db.PartnerDeleteFlowsParams{
				PartnerID: &p.ID, ProgramID: p.ProgramID, OrgID: p.OrgID,
			})
			return err
		},
	); err != nil {
		return err
	}
	if slices.Contains(open, db.PayoutStatusProcessing) { // a refusal rolls back the deletions above
		return problem.New(problem.PayoutInFlight,
			"A payout of the partner is processing; delete the partner when it is paid or failed.")
	}
	recordDeparture(u, p, commissions, flows)
	// Before the deletes: the rows tell on which days the partner counted.
	if err := report.TouchPartner(ctx, u, p); err != nil {
		return err
	}
	return remove(ctx, u, p)
}

// recordDeparture records an event for each open commission and each flow of the partner, then the partner's
// event.
func recordDeparture(u *work.Unit, p db.Partner, commissions []db.Commission, flows []db.PartnerDeleteFlowsRow) {
	for _, k := range commissions {
		// Paid, rejected and voided commissions are final and need no event.
		if k.Status != db.CommissionStatusPending && k.Status != db.CommissionStatusApproved &&
			k.Status != db.CommissionStatusDue {
			continue
		}
		about := event.Subject{ProgramID: p.ProgramID, PartnerID: p.ID, ID: k.ID}
		u.Record(about, events.CommissionVoided(api.CommissionVoidedData{
			CommissionID: k.ID, SaleID: k.SaleID, PartnerID: p.ID, AmountMinor: k.AmountMinor, Currency: k.Currency,
			Reason: "partner_deleted",
		}))
	}
	// DELETE returns rows in no order; events must not depend on it.
	slices.SortFunc(flows, func(a, b db.PartnerDeleteFlowsRow) int { return cmp.Compare(a.ID, b.ID) })
	for _, f := range flows {
		about := event.Subject{ProgramID: p.ProgramID, ID: f.ID}
		u.Record(about, events.RuleDeleted(api.RuleDeletedData{RuleID: f.ID, Name: f.Name}))
	}
	about := event.Subject{ProgramID: p.ProgramID, PartnerID: p.ID, ID: p.ID}
	u.Record(about, events.AffiliateDeleted(api.AffiliateDeletedData{PartnerID: p.ID}))
}

// remove queues the statements for the commit, in the order that foreign keys require: commissions before
// payouts, the partner last. The database deletes other rows with the partner's.
func remove(ctx context.Context, u *work.Unit, p db.Partner) error {
	tx := u.Later()
	for _, do := range []func() error{
		func() error {
			// The ledger is append-only: rows that remove the partner's money from every bucket balance the others.
			return queries.PartnerLedgerRemove(ctx, tx, db.PartnerLedgerRemoveParams{
				CreatedAt: u.Now, PartnerID: p.ID, OrgID: p.OrgID,
			})
		},
		func() error {
			return queries.PartnerDeleteCommissions(ctx, tx, db.PartnerDeleteCommissionsParams{
				PartnerID: p.ID, ProgramID: p.ProgramID, OrgID: p.OrgID,
			})
		},
		func() error {
			return queries.PartnerDeletePayouts(ctx, tx, db.PartnerDeletePayoutsParams{
				PartnerID: p.ID, ProgramID: p.ProgramID, OrgID: p.OrgID,
			})
		},
		func() error {
			return queries.PartnerLeaveSales(ctx, tx, db.PartnerLeaveSalesParams{
				UpdatedAt: u.Now, PartnerID: &p.ID, ProgramID: p.ProgramID, OrgID: p.OrgID,
			})
		},
		func() error {
			return queries.PartnerLeaveCoupons(ctx, tx, db.PartnerLeaveCouponsParams{
				UpdatedAt: u.Now, PartnerID: &p.ID, ProgramID: p.ProgramID, OrgID: p.OrgID,
			})
		},
		func() error {
			return queries.PartnerDeleteCustomers(ctx, tx, db.PartnerDeleteCustomersParams{
				PartnerID: &p.ID, ProgramID: p.ProgramID, OrgID: p.OrgID,
			})
		},
		func() error {
			return queries.PartnerMailsRecall(ctx, tx, db.PartnerMailsRecallParams{PartnerID: p.ID, OrgID: p.OrgID})
		},
		func() error {
			return queries.PartnerUnsubscribesSave(ctx, tx, db.PartnerUnsubscribesSaveParams{
				ID: p.ID, OrgID: p.OrgID,
			})
		},
		func() error { return queries.PartnerDelete(ctx, tx, db.PartnerDeleteParams{ID: p.ID, OrgID: p.OrgID}) },
	} {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}
