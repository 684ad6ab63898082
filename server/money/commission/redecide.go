package commission

import (
	"context"

	"rail/gen/db"
	"rail/server/work"
)

// Redecidable reports whether the rules may decide a commission again: it is unpaid in full and in no payout.
func Redecidable(k db.Commission) bool {
	switch k.Status {
	case db.CommissionStatusPending, db.CommissionStatusApproved, db.CommissionStatusDue:
		return !Settled(k)
	}
	return false
}

// Settled reports whether a commission is paid, in a payout, or partly clawed back.
func Settled(k db.Commission) bool {
	return k.Status == db.CommissionStatusPaid || k.PayoutID != nil || k.ClawedMinor != 0
}

// Redecide replaces amount, rule and rate of an unpaid commission by those of a new decision. Its status and
// dates stay. The ledger, the audit log and webhooks treat it as a correction. The caller holds the locks of the
// partner and of the commission.
func Redecide(ctx context.Context, u *work.Unit, k db.Commission, e Earning, reason string) error {
	err := queries.CommissionRedecide(ctx, u.Later(), db.CommissionRedecideParams{
		AmountMinor: e.Left(), ShrunkMinor: e.Shrunk, RevenueMinor: e.revenue(), RateType: &e.Rate.RateType,
		RateValue: &e.Rate.RateValue, FlowID: &e.Choice.FlowID, FlowBranchID: e.Choice.BranchID, UpdatedAt: u.Now,
		ID: k.ID, OrgID: k.OrgID,
	})
	if err != nil {
		return err
	}
	previous := k.AmountMinor
	k.AmountMinor = e.Left()
	return recordCorrection(ctx, u, k, previous, "commission.redecided", reason)
}
