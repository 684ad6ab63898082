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
		k = partly(k, refunded)
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

// partly returns an imported sale of which a part is refunded, in minor units. Its tax may be that of the rest already,
// as in Rail's own export, so it does not shrink in proportion.
func partly(k db.Sale, refunded int64) db.Sale {
	k.AmountMinor, k.RefundedMinor = k.AmountMinor-refunded, k.RefundedMinor+refunded
	if k.TaxMinor != nil {
		k.TaxMinor = new(min(*k.TaxMinor, k.AmountMinor))
	}
	return k
}

// importRefund writes a refund that another product applied. The imported commissions have its effects already.
func importRefund(ctx context.Context, u *work.Unit, k db.Sale, amount int64, at clock.Time) error {
	row := importedRow(u, k, amount, at)
	recordRefund(u, row)
	return queries.RefundInsert(ctx, u.Later(), db.RefundInsertParams(row))
}

func importedRow(u *work.Unit, k db.Sale, amount int64, at clock.Time) db.Refund {
	return db.Refund{
		ID: u.NewID(ident.Refund), OrgID: k.OrgID, ProgramID: k.ProgramID, SaleID: &k.ID,
		ExternalChargeID: &k.ExternalChargeID, Status: db.RefundStatusApplied, AmountMinor: &amount,
		Currency: &k.Currency, Effects: []byte("[]"), Reason: new(importedRefund), RefundedAt: at, CreatedAt: at,
		UpdatedAt: u.Now, Restorations: []byte("[]"),
	}
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

// adopt covers a refund of before the import by refunds that the import has brought. It returns the rest of it, which
// is not refunded yet. A refund that is covered as a whole gets the processor's id, and counts as known.
func (w *refunding) adopt(ctx context.Context, u *work.Unit, r RefundInput) (RefundInput, error) {
	if r.ExternalID == nil || r.AmountMinor == nil || r.At == nil || w.known != nil || w.sale.RefundedMinor == 0 {
		return r, nil
	}
	same, err := queries.RefundSetExternalID(ctx, u.Tx, db.RefundSetExternalIDParams{
		ExternalRefundID: r.ExternalID, Now: u.Now, SaleID: &w.sale.ID, OrgID: w.sale.OrgID, AmountMinor: r.AmountMinor,
		Reason: new(importedRefund), At: *r.At,
	})
	if len(same) > 0 {
		w.known = &same[0]
	}
	if err != nil || w.known != nil {
		return r, err
	}
	covered, err := w.cover(ctx, u, r)
	if err != nil || covered == 0 {
		return r, err
	}
	row := importedRow(u, w.sale, covered, *r.At)
	if covered == *r.AmountMinor {
		row.ExternalRefundID, w.known = r.ExternalID, &row
	} else {
		row.Reason = new("Refunded before the import, as a part of " + *r.ExternalID + ".")
		r.AmountMinor = new(*r.AmountMinor - covered)
	}
	recordRefund(u, row)
	return r, queries.RefundInsert(ctx, u.Later(), db.RefundInsertParams(row))
}

// cover takes the amount of a refund from imported refunds, as far as they reach, and returns the amount taken: a source
// may report the sum of several refunds.
func (w *refunding) cover(ctx context.Context, u *work.Unit, r RefundInput) (covered int64, err error) {
	imported, err := queries.RefundsImported(ctx, u.Tx, db.RefundsImportedParams{
		SaleID: &w.sale.ID, OrgID: w.sale.OrgID, Reason: new(importedRefund), At: *r.At,
	})
	for _, row := range imported {
		part := min(*r.AmountMinor-covered, *row.AmountMinor-row.RestoredMinor)
		if err != nil || part == 0 {
			continue
		}
		covered += part
		*row.AmountMinor -= part
		recordRefundChange(u, row)
		err = queries.RefundReduce(ctx, u.Later(), db.RefundReduceParams{Part: part, ID: row.ID, OrgID: row.OrgID})
	}
	return covered, err
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
		k = partly(k, more)
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
