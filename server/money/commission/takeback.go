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
	"rail/server/work"
)

// Void takes an open commission back: its row, its money and its event.
func Void(ctx context.Context, u *work.Unit, k db.Commission, reason string) error {
	if _, err := queries.CommissionVoid(ctx, u.Later(), db.CommissionVoidParams{Now: &u.Now, Reason: &reason, ID: k.ID, OrgID: k.OrgID}); err != nil {
		return err
	}
	about := event.Subject{ProgramID: k.ProgramID, PartnerID: k.PartnerID, ID: k.ID}
	u.Record(about, events.CommissionVoided(api.CommissionVoidedData{
		CommissionID: k.ID, SaleID: k.SaleID, PartnerID: k.PartnerID, AmountMinor: k.AmountMinor, Currency: k.Currency, Reason: reason,
	}))
	from := k.Status
	k.Status = db.CommissionStatusVoided
	return ledger.Move(ctx, u.Later(), from, ledger.Of(k, u.Now))
}

// Shrunk writes what follows when part was taken off an unpaid commission: the
// part's money goes to the sink, and commission.updated tells the new amount.
func Shrunk(ctx context.Context, u *work.Unit, k db.Commission, part int64) error {
	about := event.Subject{ProgramID: k.ProgramID, PartnerID: k.PartnerID, ID: k.ID}
	u.Record(about, events.CommissionUpdated(api.CommissionUpdatedData{
		CommissionID: k.ID, PartnerID: k.PartnerID, AmountMinor: k.AmountMinor, Currency: k.Currency,
		Status: api.CommissionStatus(k.Status), PreviousStatus: api.CommissionStatus(k.Status),
	}))
	from := k.Status
	k.Status, k.AmountMinor = db.CommissionStatusVoided, part // of the part; the commission keeps its own
	return ledger.Move(ctx, u.Later(), from, ledger.Of(k, u.Now))
}

// clawback is the negative commission that takes part of a paid one back, or the
// reward that gives part of a paid deduction back; it names its origin
// (decisions, 108).
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
		ID: ident.New(ident.Commission), OrgID: k.OrgID, ProgramID: k.ProgramID, PartnerID: k.PartnerID, SaleID: k.SaleID, CustomerID: k.CustomerID,
		FlowID: k.FlowID, FlowBranchID: k.FlowBranchID, Kind: kind, AmountMinor: -part, Currency: k.Currency,
		Status: db.CommissionStatusDue, MatureAt: &u.Now, ApprovedAt: &u.Now, Metadata: origin, CreatedAt: u.Now, UpdatedAt: u.Now,
	}
}
