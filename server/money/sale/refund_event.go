package sale

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/clock"
	"rail/server/work"
	"rail/server/work/event"
)

// eventData returns the data of a refund's events.
func eventData(r db.Refund) api.RefundEventData {
	return api.RefundEventData{
		RefundID: r.ID, SaleID: r.SaleID, ExternalChargeID: r.ExternalChargeID, ExternalRefundID: r.ExternalRefundID,
		Status: api.RefundStatus(r.Status), AmountMinor: r.AmountMinor, Currency: r.Currency, RestoredMinor: r.RestoredMinor,
	}
}

// recordRefund records a new refund.
func recordRefund(u *work.Unit, r db.Refund) {
	u.Record(event.Subject{ProgramID: r.ProgramID, ID: r.ID}, events.RefundCreated(eventData(r)))
}

// recordRefundChange records a changed refund.
func recordRefundChange(u *work.Unit, r db.Refund) {
	u.Record(event.Subject{ProgramID: r.ProgramID, ID: r.ID}, events.RefundUpdated(eventData(r)))
}

// ExpireRefunds gives up on refunds that have waited for their sale since before a time, at most lim of them,
// and returns their number.
func ExpireRefunds(ctx context.Context, u *work.Unit, before clock.Time, lim int32) (int64, error) {
	rows, err := queries.RefundsExpire(ctx, u.Tx, db.RefundsExpireParams{Now: u.Now, Before: before, Lim: lim})
	for _, r := range rows {
		recordRefundChange(u.For(r.OrgID), r)
	}
	return int64(len(rows)), err
}
