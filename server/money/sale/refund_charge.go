package sale

import (
	"cmp"
	"context"

	"rail/gen/db"
	"rail/server/ident"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/work"
)

// RefundCharge refunds the sale of a charge, and writes it to the audit log. A refund that arrives before its
// sale waits, since processors send events in any order; Record applies it then (decisions, 227).
func RefundCharge(
	ctx context.Context, u *work.Unit, programID, chargeID string, r RefundInput,
) (Refunded, error) {
	org := u.OrgID
	var earlier *db.Refund
	var sold db.SaleByChargeRow
	err := u.InProgram(ctx, programID,
		func(tx pgtx.DBTX) error {
			// The same lock as Record's: otherwise a sale recorded between this lookup and the insert of a waiting
			// refund would miss it.
			return queries.ChargeLock(ctx, tx, db.ChargeLockParams{OrgID: org, ProgramID: programID,
				ExternalChargeID: chargeID})
		},
		func(tx pgtx.DBTX) (err error) {
			sold, err = queries.SaleByCharge(ctx, tx, db.SaleByChargeParams{ProgramID: programID, OrgID: org,
				ExternalChargeID: chargeID})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			earlier, err = earlierRefund(ctx, tx, org, programID, r.ExternalID)
			return err
		})
	if err != nil {
		return Refunded{}, err
	}
	r.SaleID = sold.ID
	switch {
	case earlier != nil && earlier.Status == db.RefundStatusApplied: // the request may name another id of the charge
		return repeated(*earlier, r, cmp.Or(sold.ExternalChargeID, chargeID)), nil
	case earlier != nil && *earlier.ExternalChargeID != sold.ExternalChargeID:
		return repeated(*earlier, r, chargeID), nil
	case r.SaleID == "":
		return wait(ctx, u, programID, chargeID, r)
	}
	return Refund(ctx, u, r)
}

// maxWaiting bounds the waiting refunds of one charge: its sale applies them all in one transaction.
const maxWaiting = 50

// wait stores a refund until its sale is recorded. The amount is not checked, since the sale's amount is
// unknown.
func wait(ctx context.Context, u *work.Unit, programID, chargeID string, r RefundInput) (Refunded, error) {
	at := u.Now
	if r.At != nil {
		at = *r.At
	}
	if at.After(u.Now.Add(bound(r.TestClock, 0))) {
		return Refunded{}, problem.Invalid("refunded_at", "refunded_at is in the future.")
	}
	waiting, err := queries.RefundsWaitingCount(ctx, u.DB(), db.RefundsWaitingCountParams{
		ProgramID: programID, OrgID: u.OrgID, ExternalChargeID: &chargeID,
	})
	if err != nil {
		return Refunded{}, err
	}
	if waiting >= maxWaiting {
		return Refunded{}, problem.On("external_charge_id", problem.RefundWaiting,
			"%d refunds of this charge wait for its sale already.", waiting)
	}
	row := db.Refund{
		ID: u.NewID(ident.Refund), OrgID: u.OrgID, ProgramID: programID, ExternalChargeID: &chargeID,
		ExternalRefundID: r.ExternalID, Status: db.RefundStatusWaiting, AmountMinor: r.AmountMinor, Effects: []byte("[]"),
		Restorations: []byte("[]"), Reason: r.Reason, RefundedAt: at, CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	recordRefund(u, row)
	return Refunded{Refund: row}, queries.RefundInsert(ctx, u.Later(), db.RefundInsertParams(row))
}

// ApplyWaiting applies the refunds that arrived before an imported sale, and writes them to the audit log.
func ApplyWaiting(ctx context.Context, u *work.Unit, sale db.Sale) error {
	_, done, err := applyWaiting(ctx, u, sale)
	if err != nil {
		return err
	}
	return auditAll(ctx, u, done)
}

// applyWaiting applies the refunds that arrived before the sale, in the order of arrival, and returns the sale
// after them.
func applyWaiting(ctx context.Context, u *work.Unit, sale db.Sale) (_ db.Sale, done []Refunded, err error) {
	waiting, err := queries.RefundsWaiting(ctx, u.DB(), db.RefundsWaitingParams{
		ProgramID: sale.ProgramID, OrgID: sale.OrgID, ExternalChargeID: &sale.ExternalChargeID,
	})
	if err != nil {
		return sale, nil, err
	}
	for _, w := range waiting {
		one, err := refund(ctx, u, RefundInput{SaleID: sale.ID, ExternalID: w.ExternalRefundID})
		if err != nil {
			return sale, nil, err
		}
		done = append(done, one)
	}
	// Each refund changed the row, so read it again.
	sale, err = queries.SaleGet(ctx, u.DB(), db.SaleGetParams{ID: sale.ID, OrgID: sale.OrgID})
	return sale, done, err
}
