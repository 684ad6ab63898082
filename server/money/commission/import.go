package commission

import (
	"context"

	"rail/gen/db"
	"rail/server/money/ledger"
	"rail/server/money/report"
	"rail/server/work"
)

// Import writes a commission of another product with its amount and status there. Its money enters the bucket of that
// status. A paid commission's payout must be written before.
func Import(ctx context.Context, u *work.Unit, k db.Commission) error {
	if err := queries.CommissionInsert(ctx, u.Later(), db.CommissionInsertParams(k)); err != nil {
		return err
	}
	recordCreated(u, k)
	if k.Kind == db.CommissionKindReferral && k.SaleID != nil {
		if err := queries.SaleMarkCredited(ctx, u.Later(), db.SaleMarkCreditedParams{
			ID: *k.SaleID, OrgID: k.OrgID,
		}); err != nil {
			return err
		}
	}
	if err := report.TouchCommission(ctx, u, k); err != nil {
		return err
	}
	if k.PayoutID != nil {
		if err := report.TouchPayout(ctx, u, *k.PayoutID); err != nil {
			return err
		}
	}
	return ledger.Earn(ctx, u.Later(), ledger.CommissionOf(k, k.CreatedAt))
}

// ImportPaid pays an open commission by an imported payout, because another product has paid it. The commission must
// be in no payout.
func ImportPaid(ctx context.Context, u *work.Unit, k db.Commission, payoutID string) error {
	previous := k.Status
	k.Status, k.PayoutID, k.UpdatedAt = db.CommissionStatusPaid, &payoutID, u.Now
	if err := queries.CommissionImportPaid(ctx, u.Later(), db.CommissionImportPaidParams{
		PayoutID: &payoutID, UpdatedAt: u.Now, ID: k.ID, OrgID: k.OrgID, Previous: previous,
	}); err != nil {
		return err
	}
	if err := report.TouchPayout(ctx, u, payoutID); err != nil {
		return err
	}
	return ledger.Moved(ctx, u, previous, k)
}

// ImportDue makes a commission due that waited for its approval or maturity, because another product did.
func ImportDue(ctx context.Context, u *work.Unit, k db.Commission) error {
	previous := k.Status
	k.Status, k.UpdatedAt = db.CommissionStatusDue, u.Now
	if err := queries.CommissionImportDue(ctx, u.Later(), db.CommissionImportDueParams{
		Now: u.Now, ID: k.ID, OrgID: k.OrgID, Previous: previous,
	}); err != nil {
		return err
	}
	return ledger.Moved(ctx, u, previous, k)
}
