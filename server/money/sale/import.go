package sale

import (
	"context"
	"time"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/money/report"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/work"
	"rail/server/work/event"
)

// Import writes a sale of another product. k.AmountMinor is the whole amount; refunded, in minor units, is the part of
// it that was refunded there, at a time that is nil if it is not known.
func Import(ctx context.Context, u *work.Unit, k db.Sale, refunded int64, at *clock.Time) error {
	if at == nil {
		at = &k.OccurredAt
	}
	whole := k.AmountMinor
	switch {
	case refunded >= whole:
		refunded, k.RefundedAt = whole, at
	case refunded > 0:
		k = withRefund(k, refunded)
	}
	if err := queries.SaleInsert(ctx, u.Later(), db.SaleInsertParams(k)); err != nil {
		return err
	}
	u.Record(event.Subject{ProgramID: k.ProgramID, ID: k.ID}, events.SaleCreated(api.SaleCreatedData{
		SaleID: k.ID, CustomerID: k.CustomerID, PartnerID: k.PartnerID, AmountMinor: whole, Currency: k.Currency,
		IsFirstSale: k.IsFirstSale, OccurredAt: k.OccurredAt,
	}))
	if err := report.TouchSale(ctx, u, k); err != nil || refunded == 0 {
		return err
	}
	return importRefund(ctx, u, k, refunded, *at)
}

// withRefund returns an imported sale of which a part is refunded, in minor units. Its tax may be that of the rest
// already, as in Rail's own export, so it does not shrink in proportion.
func withRefund(k db.Sale, refunded int64) db.Sale {
	k.AmountMinor, k.RefundedMinor = k.AmountMinor-refunded, k.RefundedMinor+refunded
	if k.TaxMinor != nil {
		k.TaxMinor = new(min(*k.TaxMinor, k.AmountMinor))
	}
	return k
}

// importRefund writes a refund that another product applied. The imported commissions have its effects already.
func importRefund(ctx context.Context, u *work.Unit, k db.Sale, amount int64, at clock.Time) error {
	row := db.Refund{
		ID: u.NewID(ident.Refund), OrgID: k.OrgID, ProgramID: k.ProgramID, SaleID: &k.ID,
		ExternalChargeID: &k.ExternalChargeID, Status: db.RefundStatusApplied, AmountMinor: &amount,
		Currency: &k.Currency, Effects: []byte("[]"), Reason: new(importedRefund), RefundedAt: at, CreatedAt: at,
		UpdatedAt: u.Now, Restorations: []byte("[]"),
	}
	recordRefund(u, row)
	return queries.RefundInsert(ctx, u.Later(), db.RefundInsertParams(row))
}

// liveFor is how long after a payment its processor usually reports it. Later reports, such as those of a backfill, may
// be of payments that an import has brought under another id.
const liveFor = 10 * time.Minute

// imported returns the imported sale that is the same payment under another id, which it notes, or nil. Refunds and
// events that wait for the other id get the sale.
func (r *recording) imported(ctx context.Context, u *work.Unit) (*Outcome, error) {
	if !r.Dated || u.Now.Sub(r.OccurredAt.Time) < liveFor {
		return nil, nil //nolint:nilnil // a live payment
	}
	var found []db.Sale
	err := u.Read(ctx, func(tx pgtx.DBTX) (err error) {
		found, err = queries.ImportedDuplicateSale(ctx, tx, db.ImportedDuplicateSaleParams{
			CustomerID: r.CustomerID, OrgID: u.OrgID, ProgramID: r.ProgramID, Currency: r.Currency,
			AmountMinor: r.AmountMinor, FirstAt: r.OccurredAt.Plus(-time.Hour), LastAt: r.OccurredAt.Plus(time.Hour),
		})
		return err
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	out := Outcome{Sale: found[0], Repeated: true, Differs: r.differs(found[0])}
	err = queries.AliasesAdd(ctx, u.Later(), db.AliasesAddParams{
		OrgID: u.OrgID, ProgramID: r.ProgramID, Aliases: []string{r.ExternalChargeID},
		ExternalChargeID: out.Sale.ExternalChargeID, Now: u.Now,
	})
	if err == nil && r.history.EventsWait {
		err = u.Reschedule(ctx, r.ProgramID, work.ChargeKey(r.ExternalChargeID))
	}
	// The import may have brought a waiting refund of a partly refunded sale.
	if err != nil || !r.history.RefundsWait || out.Sale.RefundedMinor > 0 {
		return &out, err
	}
	if err := u.Claim("charge", r.ProgramID, out.Sale.ExternalChargeID); err != nil {
		return nil, err
	}
	if err := queries.RefundsSetCharge(ctx, u.Later(), db.RefundsSetChargeParams{
		ExternalChargeID: &out.Sale.ExternalChargeID, Now: u.Now, ProgramID: r.ProgramID, OrgID: u.OrgID,
		Alias: &r.ExternalChargeID,
	}); err != nil {
		return nil, err
	}
	out.Sale, out.Refunds, err = applyWaiting(ctx, u, out.Sale)
	return &out, err
}

// importedRefund is the reason of a refund that another product applied. Its processor's id is not known until the
// processor reports it.
const importedRefund = "Refunded before the import."

// adopt gives an imported refund of the same amount the processor's id, so that it is known and not applied again, if
// the processor refunded before the import.
func (w *refunding) adopt(ctx context.Context, u *work.Unit, r RefundInput) error {
	switch {
	case w.sale.RefundedMinor == 0 || r.BeyondImported:
		return nil
	case w.earlier != nil:
		return w.adoptWaiting(ctx, u)
	case r.ExternalID == nil || r.AmountMinor == nil || r.At == nil:
		return nil
	}
	rows, err := queries.RefundSetExternalID(ctx, u.Tx, db.RefundSetExternalIDParams{
		ExternalRefundID: r.ExternalID, LevelMinor: r.LevelMinor, Now: u.Now, SaleID: &w.sale.ID, OrgID: w.sale.OrgID,
		AmountMinor: r.AmountMinor, Reason: new(importedRefund), At: *r.At,
	})
	if len(rows) > 0 {
		w.earlier = &rows[0]
	}
	return err
}

// adoptWaiting applies a refund that has waited for the sale in place of the imported refund of the same amount.
func (w *refunding) adoptWaiting(ctx context.Context, u *work.Unit) error {
	row := *w.earlier
	if row.Status == db.RefundStatusApplied || row.AmountMinor == nil ||
		opt.Value(row.ExternalChargeID) != w.sale.ExternalChargeID {
		return nil
	}
	n, err := queries.RefundImportedDelete(ctx, u.Tx, db.RefundImportedDeleteParams{
		SaleID: &w.sale.ID, OrgID: w.sale.OrgID, AmountMinor: row.AmountMinor, Reason: new(importedRefund),
		At: row.RefundedAt,
	})
	if err != nil || n == 0 {
		return err
	}
	row.SaleID, row.Currency, row.Status, row.UpdatedAt = &w.sale.ID, &w.sale.Currency, db.RefundStatusApplied, u.Now
	w.earlier = &row
	return applyRow(ctx, u, row)
}

// ImportRefund writes that another product has refunded more of an imported sale: refunded minor units in total. The
// sale must be locked.
func ImportRefund(ctx context.Context, u *work.Unit, k db.Sale, refunded int64, at *clock.Time) error {
	if at == nil {
		at = &u.Now
	}
	more := min(refunded-k.RefundedMinor, k.AmountMinor)
	if more <= 0 || k.RefundedAt != nil {
		return nil
	}
	if more == k.AmountMinor {
		k.RefundedAt = at
	} else {
		k = withRefund(k, more)
	}
	if err := queries.SaleRefund(ctx, u.Later(), db.SaleRefundParams{
		AmountMinor: k.AmountMinor, TaxMinor: k.TaxMinor, RefundedMinor: k.RefundedMinor, RefundedAt: k.RefundedAt,
		UpdatedAt: u.Now, ID: k.ID, OrgID: k.OrgID,
	}); err != nil {
		return err
	}
	if err := report.Touch(ctx, u, k.ProgramID, k.OccurredAt); err != nil {
		return err
	}
	return importRefund(ctx, u, k, more, *at)
}
