package commission

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/auditlog"
	"rail/server/event"
	"rail/server/money/ledger"
	"rail/server/work"
)

// Redecidable reports whether the rules may decide a commission once more: its whole amount
// is unpaid and in no payout.
func Redecidable(k db.Commission) bool {
	switch k.Status {
	case db.CommissionStatusPending, db.CommissionStatusApproved, db.CommissionStatusDue:
		return k.PayoutID == nil && k.ClawedMinor == 0
	}
	return false
}

// Redecide gives an unpaid commission the amount, rule and rate that the rules decide now.
// Its status and its dates stay. The difference moves in the ledger. The caller holds the
// locks of the partner and of the commission.
func Redecide(ctx context.Context, u *work.Unit, k db.Commission, e Earned, reason string) error {
	err := queries.CommissionRedecide(ctx, u.Later(), db.CommissionRedecideParams{
		AmountMinor: e.Amount, RevenueMinor: e.Base, RateType: &e.Rate.RateType, RateValue: &e.Rate.RateValue,
		FlowID: &e.Choice.FlowID, FlowBranchID: e.Choice.BranchID, UpdatedAt: u.Now, ID: k.ID, OrgID: k.OrgID,
	})
	if err != nil {
		return err
	}
	before := k.AmountMinor
	k.AmountMinor = e.Amount
	if before != k.AmountMinor {
		about := event.Subject{ProgramID: k.ProgramID, PartnerID: k.PartnerID, ID: k.ID}
		u.Record(about, events.CommissionUpdated(api.CommissionUpdatedData{
			CommissionID: k.ID, PartnerID: k.PartnerID, AmountMinor: k.AmountMinor, Currency: k.Currency,
			Status: api.CommissionStatus(k.Status), PreviousStatus: api.CommissionStatus(k.Status),
		}))
	}
	if err := ledger.Adjust(ctx, u.Later(), ledger.Of(k, u.Now), k.AmountMinor-before); err != nil {
		return err
	}
	return auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: k.ProgramID, Action: "commission.corrected", TargetID: k.ID, Reason: &reason,
		Before: map[string]int64{"amount_minor": before}, After: map[string]int64{"amount_minor": k.AmountMinor},
	})
}
