package commission

import (
	"context"
	"encoding/json"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/event"
	"rail/server/ident"
	"rail/server/money/ledger"
	"rail/server/money/payout"
	"rail/server/work"
)

// Void voids an unpaid commission: its row, its money and its event.
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
	return ledger.Move(ctx, u.Later(), from, ledger.Of(k, u.Now))
}

// Shrunk records that part, in minor units, was taken off an unpaid commission:
// the part's money moves to the sink, and commission.updated has the new amount.
func Shrunk(ctx context.Context, u *work.Unit, k db.Commission, part int64) error {
	recordAmount(u, k, k.AmountMinor+part)
	from := k.Status
	k.Status, k.AmountMinor = db.CommissionStatusVoided, part // of the part; the commission keeps its own
	return ledger.Move(ctx, u.Later(), from, ledger.Of(k, u.Now))
}

// clawback returns the negative commission that takes part of a paid one back,
// or, for a paid deduction, the reward that gives part of it back. Its metadata
// names the commission that it undoes (decisions, 108).
func clawback(u *work.Unit, k db.Commission, part int64) db.Commission {
	kind := db.CommissionKindClawback
	if part < 0 {
		kind = db.CommissionKindReward
	}
	origin, err := json.Marshal(map[string]string{"commission_id": k.ID})
	if err != nil {
		origin = nil // a map of text always marshals
	}
	return db.Commission{
		ID: ident.New(ident.Commission), OrgID: k.OrgID, ProgramID: k.ProgramID, PartnerID: k.PartnerID, SaleID: k.SaleID,
		CustomerID: k.CustomerID, FlowID: k.FlowID, FlowBranchID: k.FlowBranchID, Kind: kind,
		AmountMinor: -part, Currency: k.Currency,
		Status: db.CommissionStatusDue, MatureAt: &u.Now, ApprovedAt: &u.Now, Metadata: origin,
		CreatedAt: u.Now, UpdatedAt: u.Now,
	}
}

// Claw takes part, in minor units, of a paid commission back by a new one, due
// at once. Paid money is never rewritten: the partner's next payout is lower.
func Claw(ctx context.Context, u *work.Unit, k db.Commission, part int64) (*db.Commission, error) {
	noted := db.CommissionClawedParams{PartMinor: part, UpdatedAt: u.Now, ID: k.ID, OrgID: k.OrgID}
	if err := queries.CommissionClawed(ctx, u.Later(), noted); err != nil {
		return nil, err
	}
	made := clawback(u, k, part)
	return &made, add(ctx, u, made)
}

// ClawOpen claws back from a commission that was in flight at an earlier refund.
// Where its payout has failed and is open again, the clawback joins that payout,
// so that no more is paid than is left.
func ClawOpen(ctx context.Context, u *work.Unit, k db.Commission, part int64) (*db.Commission, error) {
	if k.PayoutID == nil {
		return Claw(ctx, u, k, part)
	}
	// The payout comes first: it goes if nothing is left of it.
	open, err := payout.Enter(ctx, u, *k.PayoutID, -part)
	if err != nil {
		return nil, err
	}
	made, err := Claw(ctx, u, k, part)
	if err != nil || !open {
		return made, err
	}
	return made, payout.Attach(ctx, u, *k.PayoutID, made.ID)
}
