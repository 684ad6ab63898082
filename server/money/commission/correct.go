package commission

import (
	"context"
	"encoding/json"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/money/ledger"
	"rail/server/money/report"
	"rail/server/problem"
	"rail/server/work"
	"rail/server/work/auditlog"
	"rail/server/work/event"
)

// Correct sets the amount, in minor units, of an unpaid commission that is in no payout (decisions, 315).
// Setting the present amount changes nothing.
func Correct(ctx context.Context, u *work.Unit, id string, amount int64, reason string) (db.Commission, error) {
	if amount < 1 {
		return db.Commission{}, problem.Invalid("amount_minor",
			"amount_minor must be at least 1; reject the commission instead of setting it to 0.")
	}
	k, err := lock(ctx, u, id)
	if err != nil {
		return k, err
	}
	if err := correctable(k); err != nil || amount == k.AmountMinor {
		return k, err
	}
	refunded, err := refundedOf(ctx, u, k)
	if err != nil {
		return k, err
	}
	previous := k.AmountMinor
	k.AmountMinor, k.UpdatedAt = amount, u.Now
	err = queries.CommissionCorrect(ctx, u.Later(), db.CommissionCorrectParams{
		AmountMinor: amount, RefundedMinor: refunded, UpdatedAt: u.Now, ID: k.ID, OrgID: u.OrgID, PreviousMinor: previous,
	})
	if err != nil {
		return k, err
	}
	return k, recordCorrection(ctx, u, k, previous, "commission.corrected", reason)
}

// recordCorrection records a correction: it moves the difference in the ledger, marks the day's report sums as
// stale, and writes the event and the audit entry with both amounts.
func recordCorrection(ctx context.Context, u *work.Unit, k db.Commission, previous int64, action, reason string) error {
	if k.AmountMinor != previous {
		if err := ledger.Correct(ctx, u.Later(), ledger.CommissionOf(k, u.Now), previous); err != nil {
			return err
		}
		if err := report.TouchCommission(ctx, u, k); err != nil {
			return err
		}
		recordAmount(u, k, previous)
	}
	return auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: k.ProgramID, Action: action, TargetID: k.ID, Reason: &reason,
		Before: map[string]int64{"amount_minor": previous}, After: map[string]int64{"amount_minor": k.AmountMinor},
	})
}

// correctable returns nil if nothing depends on the commission's amount yet.
func correctable(k db.Commission) error {
	refuse := func(format string, args ...any) error {
		return problem.New(problem.CommissionNotCorrectable, format, args...)
	}
	origin := undoneCommission(k)
	switch {
	case k.Kind == db.CommissionKindClawback:
		return refuse("The commission is a clawback and %s; clawbacks cannot be corrected.", k.Status)
	case k.Status == db.CommissionStatusPaid || k.Status == db.CommissionStatusRejected ||
		k.Status == db.CommissionStatusVoided:
		return refuse("The commission is %s; only unpaid commissions in no payout can be corrected.", k.Status)
	case k.PayoutID != nil:
		return refuse("The commission is %s and in the payout %s; only commissions in no payout can be corrected.",
			k.Status, *k.PayoutID)
	case k.ClawedMinor != 0:
		return refuse("The commission is %s, and refunds have clawed back %d of its %d already.", k.Status, k.ClawedMinor,
			k.AmountMinor)
	case origin != "":
		return refuse("The commission is %s and returns a part of the clawback %s, which a refund reversed.",
			k.Status, origin)
	}
	return nil
}

// undoneCommission returns the id of the commission that a refund answered with k, or "".
func undoneCommission(k db.Commission) string {
	var result struct {
		CommissionID string `json:"commission_id"`
	}
	if k.Metadata == nil || json.Unmarshal(k.Metadata, &result) != nil {
		return ""
	}
	return result.CommissionID
}

// refundedOf returns how much refunds took from the commission's sale, in minor units. No refund runs at the
// same time: each locks the partner of every commission of the sale.
func refundedOf(ctx context.Context, u *work.Unit, k db.Commission) (int64, error) {
	if k.SaleID == nil {
		return 0, nil
	}
	sale, err := queries.SaleGet(ctx, u.DB(), db.SaleGetParams{ID: *k.SaleID, OrgID: u.OrgID})
	if err == nil && sale.RefundedAt != nil {
		return sale.RefundedMinor + sale.AmountMinor, nil
	}
	return sale.RefundedMinor, err
}

// recordAmount records the new amount of an unpaid commission.
func recordAmount(u *work.Unit, k db.Commission, previous int64) {
	status := api.CommissionStatus(k.Status)
	u.Record(event.Subject{ProgramID: k.ProgramID, PartnerID: k.PartnerID, ID: k.ID},
		events.CommissionUpdated(api.CommissionUpdatedData{
			CommissionID: k.ID, PartnerID: k.PartnerID, AmountMinor: k.AmountMinor, Currency: k.Currency,
			Status: status, PreviousStatus: status, PreviousAmountMinor: &previous,
		}))
}
