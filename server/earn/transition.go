package earn

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/event"
	"rail/server/ledger"
	"rail/server/pgtx"
)

// Moved writes what follows from a commission's change of status: the move of
// its money between buckets, and commission.updated. The row itself has been,
// or is being, changed by the caller in the same transaction.
func Moved(ctx context.Context, later pgtx.DBTX, events *event.Recorder, k db.Commission, previous string) error {
	events.Record("commission.updated", event.Subject{ProgramID: k.ProgramID, PartnerID: k.PartnerID, ID: k.ID}, api.CommissionUpdatedData{
		CommissionID: k.ID, PartnerID: k.PartnerID, AmountMinor: k.AmountMinor, Currency: k.Currency,
		Status: api.CommissionStatus(k.Status), PreviousStatus: api.CommissionStatus(previous),
	})
	return ledger.Move(ctx, later, ledger.Of(k, events.Now), previous)
}
