package payout

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/work"
	"rail/server/work/event"
)

// Imported is a payment that another product made. Amounts are minor units.
type Imported struct {
	ID, PartnerID, Currency, ImportID string
	AmountMinor                       int64
	Method                            *string
	PaidAt                            clock.Time
}

// Import writes a payout of another product as paid, in the import's batch of its month. batches has the batches that
// the unit of work has used, by month. No statement is written for it, and no money moves.
func Import(ctx context.Context, u *work.Unit, program db.Program, batches map[string]string, in Imported) error {
	zone := clock.StoredZone(program.TimeZone)
	month := clock.MonthOf(in.PaidAt.DayIn(zone))
	end := clock.EndOf(month.AddDate(0, 1, -1), zone)
	if end.After(u.Now.Time) {
		end = u.Now
	}
	batch, ok := batches[month.String()]
	if !ok {
		var err error
		if batch, err = queries.BatchOfImport(ctx, u.Tx, db.BatchOfImportParams{
			ID: u.NewID(ident.Batch), OrgID: u.OrgID, ProgramID: program.ID, PeriodMonth: month, PeriodEnd: end, Now: end,
			ImportID: &in.ImportID,
		}); err != nil {
			return err
		}
		batches[month.String()] = batch
	}
	err := queries.PayoutImport(ctx, u.Later(), db.PayoutImportParams{
		ID: in.ID, OrgID: u.OrgID, ProgramID: program.ID, PartnerID: in.PartnerID, BatchID: batch,
		AmountMinor: in.AmountMinor, Currency: in.Currency, Method: in.Method, PeriodMonth: month, PeriodEnd: end,
		PaidAt: in.PaidAt, ImportID: &in.ImportID,
	})
	u.Record(event.Subject{ProgramID: program.ID, PartnerID: in.PartnerID, ID: in.ID},
		events.PayoutPaid(api.PayoutPaidData{
			PayoutID: in.ID, PartnerID: in.PartnerID, AmountMinor: in.AmountMinor, Currency: in.Currency,
			PaidAt: in.PaidAt, Method: (*api.PayoutMethod)(in.Method),
		}))
	return err
}
