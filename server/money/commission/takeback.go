package commission

import (
	"context"
	"encoding/json"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/ident"
	"rail/server/money/ledger"
	"rail/server/money/payout"
	"rail/server/money/rules"
	"rail/server/opt"
	"rail/server/work"
	"rail/server/work/event"
)

// Void voids an unpaid commission: its row, its ledger entry and its event.
func Void(ctx context.Context, u *work.Unit, k db.Commission, reason string) error {
	voided := db.CommissionVoidParams{Now: &u.Now, Reason: &reason, ID: k.ID, OrgID: k.OrgID}
	if _, err := queries.CommissionVoid(ctx, u.Later(), voided); err != nil {
		return err
	}
	about := event.Subject{ProgramID: k.ProgramID, PartnerID: k.PartnerID, ID: k.ID}
	u.Record(about, events.CommissionVoided(api.CommissionVoidedData{
		CommissionID: k.ID, SaleID: k.SaleID, PartnerID: k.PartnerID, AmountMinor: k.AmountMinor,
		Currency: k.Currency, Reason: reason,
	}))
	from := k.Status
	k.Status = db.CommissionStatusVoided
	return ledger.Move(ctx, u.Later(), from, ledger.CommissionOf(k, u.Now))
}

// RecordShrink records that part, in minor units, was taken off an unpaid commission: the part moves to the
// sink, and commission.updated has the new amount.
func RecordShrink(ctx context.Context, u *work.Unit, k db.Commission, part int64) error {
	recordAmount(u, k, k.AmountMinor+part)
	from := k.Status
	k.Status, k.AmountMinor = db.CommissionStatusVoided, part // the ledger moves the part only
	return ledger.Move(ctx, u.Later(), from, ledger.CommissionOf(k, u.Now))
}

// clawback returns a negative commission that takes back part of a paid one or, for a paid deduction, a reward
// that returns part of it. Its metadata names the commission that it reverses (decisions, 108).
func clawback(u *work.Unit, k db.Commission, part int64) db.Commission {
	kind := db.CommissionKindClawback
	if part < 0 {
		kind = db.CommissionKindReward
	}
	return db.Commission{
		ID: u.NewID(ident.Commission), OrgID: k.OrgID, ProgramID: k.ProgramID, PartnerID: k.PartnerID, SaleID: k.SaleID,
		CustomerID: k.CustomerID, FlowID: k.FlowID, FlowBranchID: k.FlowBranchID, Kind: kind,
		AmountMinor: -part, Currency: k.Currency,
		Status: db.CommissionStatusDue, MatureAt: &u.Now, ApprovedAt: &u.Now, Metadata: idMetadata("commission_id", k.ID),
		CreatedAt: u.Now, UpdatedAt: u.Now,
	}
}

// Restore returns part, in minor units, of the amount that refunds took from a commission. It creates a
// commission for it and returns that; nil if there is nothing to restore.
//
// For a voided commission, the new one belongs to the sale, and later refunds take their share of it; status is
// the state before voiding, and refunded is how much of the sale is refunded now. For any other commission, a
// reward lowers the clawed amount, so that later refunds take their share of the commission itself. A commission
// that was rejected, or voided for another reason than a refund, gets nothing back.
func Restore(
	ctx context.Context, u *work.Unit, k db.Commission, status db.CommissionStatus, part, refunded int64,
) (*db.Commission, error) {
	switch {
	case k.Status == db.CommissionStatusRejected,
		k.Status == db.CommissionStatusVoided && opt.Value(k.VoidReason) != SaleRefunded:
		return nil, nil //nolint:nilnil // a person or another event decided
	case k.Status != db.CommissionStatusVoided:
		return unclaw(ctx, u, k, part)
	}
	c := clawback(u, k, -part)
	c.Metadata = idMetadata("restores", k.ID)
	c.RefundedBeforeMinor = refunded
	if status == db.CommissionStatusPending {
		c.Status, c.ApproveAt, c.ApprovedAt = status, k.ApproveAt, nil
		c.MatureAt = k.MatureAt
	} else if k.MatureAt != nil {
		c.Status, c.MatureAt = rules.ApprovedStatus(*k.MatureAt, u.Now), k.MatureAt
	}
	return &c, add(ctx, u, c)
}

// unclaw returns a part that refunds took from a commission, as a new commission that names it. The new one has
// the approval and the holding period of the old one.
func unclaw(ctx context.Context, u *work.Unit, k db.Commission, part int64) (*db.Commission, error) {
	noted := db.CommissionAddClawbackParams{PartMinor: -part, UpdatedAt: u.Now, ID: k.ID, OrgID: k.OrgID}
	if err := queries.CommissionAddClawback(ctx, u.Later(), noted); err != nil {
		return nil, err
	}
	c := clawback(u, k, -part)
	if k.Status != db.CommissionStatusPaid && k.PayoutID == nil {
		c.Status, c.MatureAt, c.ApproveAt, c.ApprovedAt = k.Status, k.MatureAt, k.ApproveAt, k.ApprovedAt
	}
	return &c, add(ctx, u, c)
}

// SaleRefunded is the reason of commissions that a refund voids.
const SaleRefunded = "sale_refunded"

// idMetadata returns metadata that names a commission.
func idMetadata(key, id string) json.RawMessage {
	out, err := json.Marshal(map[string]string{key: id})
	if err != nil {
		return nil // a map of strings always marshals
	}
	return out
}

// Claw takes back part, in minor units, of a paid commission with a new commission, due at once. A paid amount
// never changes: the partner's next payout is lower.
func Claw(ctx context.Context, u *work.Unit, k db.Commission, part int64) (*db.Commission, error) {
	noted := db.CommissionAddClawbackParams{PartMinor: part, UpdatedAt: u.Now, ID: k.ID, OrgID: k.OrgID}
	if err := queries.CommissionAddClawback(ctx, u.Later(), noted); err != nil {
		return nil, err
	}
	c := clawback(u, k, part)
	return &c, add(ctx, u, c)
}

// ClawOpen claws back from a commission that was in flight at an earlier refund. If its payout failed and is
// open again, the clawback joins that payout, so that the payout does not exceed the remaining amount.
func ClawOpen(ctx context.Context, u *work.Unit, k db.Commission, part int64) (*db.Commission, error) {
	if k.PayoutID == nil {
		return Claw(ctx, u, k, part)
	}
	// Change the payout first: it is deleted if nothing is left of it.
	open, err := payout.Enter(ctx, u, *k.PayoutID, -part)
	if err != nil {
		return nil, err
	}
	c, err := Claw(ctx, u, k, part)
	if err != nil || !open {
		return c, err
	}
	return c, payout.Attach(ctx, u, *k.PayoutID, c.ID)
}
