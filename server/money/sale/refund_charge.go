package sale

import (
	"cmp"
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

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
	c, err := lookUpCharge(ctx, u, programID, chargeID, r.ExternalID)
	if err == nil && c.sale.ID == "" && len(c.aliasOf) > 0 {
		chargeID = c.aliasOf[0]
		c, err = lookUpCharge(ctx, u, programID, chargeID, r.ExternalID)
	}
	if err != nil {
		return Refunded{}, err
	}
	r.SaleID = c.sale.ID
	switch {
	case c.refund != nil && c.refund.Status == db.RefundStatusApplied: // the request may name another id of the charge
		return repeated(*c.refund, r, cmp.Or(c.sale.ExternalChargeID, chargeID)), nil
	case c.refund != nil && *c.refund.ExternalChargeID != c.sale.ExternalChargeID:
		return repeated(*c.refund, r, chargeID), nil
	case r.SaleID == "":
		return wait(ctx, u, programID, chargeID, r)
	}
	return Refund(ctx, u, r)
}

// refundable is the stored data about a charge and a refund of it.
type refundable struct {
	sale    db.SaleByChargeRow // its ID is "" before the sale
	refund  *db.Refund         // recorded under the same external id
	aliasOf []string           // the charge of which this is another id, none or one
}

// lookUpCharge locks a charge and reads it. externalID is the refund's, or nil.
func lookUpCharge(
	ctx context.Context, u *work.Unit, programID, chargeID string, externalID *string,
) (c refundable, err error) {
	org := u.OrgID
	err = u.InProgram(ctx, programID,
		func(tx pgtx.DBTX) error {
			// The same lock as Record's: otherwise a sale recorded between this lookup and the insert of a waiting
			// refund would miss it.
			return queries.ChargeLock(ctx, tx, db.ChargeLockParams{OrgID: org, ProgramID: programID,
				ExternalChargeID: chargeID})
		},
		func(tx pgtx.DBTX) (err error) {
			c.sale, err = queries.SaleByCharge(ctx, tx, db.SaleByChargeParams{ProgramID: programID, OrgID: org,
				ExternalChargeID: chargeID})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			c.refund, err = refundKnown(ctx, tx, org, programID, externalID)
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			c.aliasOf, err = queries.AliasesOf(ctx, tx, db.AliasesOfParams{ProgramID: programID, OrgID: org,
				Aliases: []string{chargeID}})
			return err
		})
	return c, err
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

// AdoptRefunds gives a charge the refunds that wait under other ids of it, and applies them if the charge has a sale.
// The caller holds the locks of all the ids.
func AdoptRefunds(ctx context.Context, u *work.Unit, programID, chargeID string, ids []string) error {
	found, err := queries.SaleByCharge(ctx, u.DB(), db.SaleByChargeParams{
		ProgramID: programID, OrgID: u.OrgID, ExternalChargeID: chargeID,
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return setCharge(ctx, u, programID, chargeID, ids)
	}
	if err != nil {
		return err
	}
	if err := u.Claim("charge", programID, found.ExternalChargeID); err != nil {
		return err
	}
	if err := setCharge(ctx, u, programID, found.ExternalChargeID, ids); err != nil {
		return err
	}
	_, done, err := applyWaiting(ctx, u, db.Sale{
		ID: found.ID, OrgID: u.OrgID, ProgramID: programID, ExternalChargeID: found.ExternalChargeID,
	})
	for _, refunded := range done {
		err = errors.Join(err, refunded.audit(ctx, u))
	}
	return err
}

// setCharge gives a charge the refunds that wait under other ids of it.
func setCharge(ctx context.Context, u *work.Unit, programID, chargeID string, ids []string) error {
	return queries.RefundsSetCharge(ctx, u.Later(), db.RefundsSetChargeParams{
		ExternalChargeID: &chargeID, Now: u.Now, ProgramID: programID, OrgID: u.OrgID, Aliases: ids,
	})
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
