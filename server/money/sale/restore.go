package sale

import (
	"context"
	"encoding/json"
	"slices"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/clock"
	"rail/server/money/commission"
	"rail/server/money/report"
	"rail/server/money/rules"
	"rail/server/opt"
	"rail/server/work"
	"rail/server/work/auditlog"
	"rail/server/work/event"
)

// RestoreInput is refunded money that the merchant got back. RefundIDs are the refunds of the sale to restore,
// in order.
type RestoreInput struct {
	SaleID    string
	RefundIDs []string
	// SourceID is the dispute, reversal or failed refund at the processor. It restores a refund once.
	SourceID string
	// AmountMinor is the amount that came back by this source, in minor units of the sale's currency; 0 means all
	// that the refunds took.
	AmountMinor int64
	At          clock.Time
	Reason      string
}

// Restored is the effect of a restoration. AmountMinor is 0 if nothing changed.
type Restored struct {
	RefundID    string // the refund that was restored first
	AmountMinor int64
}

// restoring is a restoration while it is computed.
type restoring struct {
	refunding
	in            RestoreInput
	refunds       []db.Refund
	restoredMinor int64 // of the sale, by this restoration
	parts         map[string]int64
	refundedMinor int64 // of the sale, before the present refund is restored
}

// Restore makes a sale count again for refunded money that the merchant got back (decisions, 313). The partner
// gets the part that a refund took of a commission as a new commission; the old one stays as the refund left it.
// A later refund takes its share of both. Restore changes nothing if the source has restored these refunds
// before.
func Restore(ctx context.Context, u *work.Unit, r RestoreInput) (Restored, error) {
	w, err := loadRestore(ctx, u, r)
	if err != nil || w.restoredMinor == 0 {
		return Restored{}, err
	}
	if err := w.restoreSale(ctx, u); err != nil {
		return Restored{}, err
	}
	out := Restored{AmountMinor: w.restoredMinor}
	var restored []api.RestoredCommission
	for _, id := range r.RefundIDs {
		if w.parts[id] == 0 {
			continue
		}
		if out.RefundID == "" {
			out.RefundID = id
		}
		one, err := w.restoreRefund(ctx, u, id)
		if err != nil {
			return out, err
		}
		restored = append(restored, one...)
	}
	return out, auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: w.sale.ProgramID, Action: "sale.restored", TargetID: w.sale.ID, Reason: &r.Reason,
		After: map[string]any{
			"source_id": r.SourceID, "amount_minor": w.restoredMinor, "restored_at": r.At, "commissions": restored,
		},
	})
}

// loadRestore locks and reads the rows that a restoration changes, and splits its amount among the refunds.
func loadRestore(ctx context.Context, u *work.Unit, r RestoreInput) (restoring, error) {
	w := restoring{in: r, parts: map[string]int64{}}
	var err error
	if w.refunding, err = loadRefund(ctx, u, RefundInput{SaleID: r.SaleID}); err != nil {
		return w, err
	}
	w.refunds, err = queries.RefundsOfSale(ctx, u.DB(), db.RefundsOfSaleParams{SaleID: &r.SaleID, OrgID: u.OrgID})
	if err != nil {
		return w, err
	}
	left, before := r.AmountMinor, int64(0)
	by := map[string]bool{}
	for _, f := range w.refunds {
		all, err := Restorations(f)
		if err != nil {
			return w, err
		}
		for _, one := range all {
			if one.SourceID == r.SourceID {
				before += one.AmountMinor
				by[f.ID] = true
			}
		}
	}
	for _, id := range r.RefundIDs {
		i := slices.IndexFunc(w.refunds, func(f db.Refund) bool { return f.ID == id })
		if i < 0 || by[id] {
			continue
		}
		part := opt.Value(w.refunds[i].AmountMinor) - w.refunds[i].RestoredMinor
		if r.AmountMinor > 0 {
			part = min(part, max(left-before-w.restoredMinor, 0))
		}
		w.parts[id] = part
		w.restoredMinor += part
	}
	return w, nil
}

// Restorations returns the restorations of a refund.
func Restorations(f db.Refund) (out []api.Restoration, err error) {
	err = json.Unmarshal(f.Restorations, &out)
	return out, err
}

// restoreSale writes the sale, its customer and the event. Afterwards w.sale has the amounts after the
// restoration.
func (w *restoring) restoreSale(ctx context.Context, u *work.Unit) error {
	old := w.sale
	s := &w.sale
	gone := s.RefundedMinor
	if s.RefundedAt != nil {
		gone += s.AmountMinor
	}
	w.refundedMinor = gone
	s.AmountMinor += s.RefundedMinor - gone + w.restoredMinor
	s.RefundedMinor, s.RefundedAt = gone-w.restoredMinor, nil
	if s.TaxMinor != nil {
		s.TaxMinor = new(min(rules.Prorated(*s.TaxMinor, s.AmountMinor, old.AmountMinor), s.AmountMinor))
	}
	err := queries.SaleRefund(ctx, u.Later(), db.SaleRefundParams{
		AmountMinor: s.AmountMinor, TaxMinor: s.TaxMinor, RefundedMinor: s.RefundedMinor, UpdatedAt: u.Now,
		ID: s.ID, OrgID: s.OrgID,
	})
	if err != nil {
		return err
	}
	u.Record(event.Subject{ProgramID: s.ProgramID, PartnerID: opt.Value(s.PartnerID), ID: s.ID},
		events.SaleUpdated(api.SaleUpdatedData{
			SaleID: s.ID, PartnerID: s.PartnerID, AmountMinor: s.AmountMinor, Currency: s.Currency,
			PreviousAmountMinor: s.AmountMinor - w.restoredMinor,
		}))
	customer := db.CustomerClearRefundedParams{UpdatedAt: u.Now, ID: s.CustomerID, OrgID: s.OrgID}
	if err := queries.CustomerClearRefunded(ctx, u.Later(), customer); err != nil {
		return err
	}
	err = queries.SaleCommissionsSetRefunded(ctx, u.Later(), db.SaleCommissionsSetRefundedParams{
		RefundedMinor: s.RefundedMinor, UpdatedAt: u.Now, SaleID: &s.ID, OrgID: s.OrgID,
	})
	if err != nil {
		return err
	}
	return report.Touch(ctx, u, s.ProgramID, s.OccurredAt)
}

// restoreRefund gives back what a refund took from commissions, in proportion to its restored part, and notes it
// in the refund's row.
func (w *restoring) restoreRefund(ctx context.Context, u *work.Unit, id string) ([]api.RestoredCommission, error) {
	f := w.refunds[slices.IndexFunc(w.refunds, func(f db.Refund) bool { return f.ID == id })]
	var effects []api.RefundedCommission
	if err := json.Unmarshal(f.Effects, &effects); err != nil {
		return nil, err
	}
	all, err := Restorations(f)
	if err != nil {
		return nil, err
	}
	now := api.Restoration{
		SourceID: w.in.SourceID, AmountMinor: w.parts[id], RestoredAt: w.in.At, Commissions: []api.RestoredCommission{},
	}
	for _, k := range w.commissions {
		part, status := w.restoredPart(k, f, effects)
		if part == 0 {
			continue
		}
		c, err := commission.Restore(ctx, u, k, status, part, w.sale.RefundedMinor)
		if err != nil {
			return nil, err
		}
		if c != nil {
			now.Commissions = append(now.Commissions, api.RestoredCommission{
				CommissionID: c.ID, PartnerID: c.PartnerID, AmountMinor: c.AmountMinor, Currency: c.Currency,
			})
		}
	}
	w.refundedMinor -= w.parts[id]
	row, err := json.Marshal(append(all, now))
	if err != nil {
		return nil, err
	}
	f.RestoredMinor += w.parts[id]
	recordRefundChange(u, f)
	return now.Commissions, queries.RefundRestore(ctx, u.Later(), db.RefundRestoreParams{
		RestoredMinor: f.RestoredMinor, Restorations: row, UpdatedAt: u.Now, ID: f.ID, OrgID: f.OrgID,
	})
}

// restoredPart returns the part of a commission that the restoration of a refund gives back, and the status of the
// commission before the refund. A standing commission by rule gets the share that it would have without the
// refund, even if the rules decided on it after the refund. Any other commission gets back its part of the
// refund's recorded effect.
func (w *restoring) restoredPart(
	k db.Commission, f db.Refund, effects []api.RefundedCommission,
) (part int64, status db.CommissionStatus) {
	void := k.Status == db.CommissionStatusVoided || k.Status == db.CommissionStatusRejected
	if k.Kind == db.CommissionKindReferral && !void {
		return w.taken(k, w.refundedMinor) - w.taken(k, w.refundedMinor-w.parts[f.ID]), k.Status
	}
	i := slices.IndexFunc(effects, func(e api.RefundedCommission) bool { return e.CommissionID == k.ID })
	if i < 0 {
		return 0, ""
	}
	// Rounding is cumulative, so that the parts of a refund sum to its amount.
	took, amount := tookOf(effects[i]), *f.AmountMinor
	if k.Kind == db.CommissionKindReferral && effects[i].After.Status != api.CommissionStatusVoided {
		took = min(took, k.ShrunkMinor+max(k.ClawedMinor, 0)) // the rules may have decided on it again
	}
	before := int64(0)
	if f.RestoredMinor > 0 {
		before = rules.RefundShare(took, amount, 0, f.RestoredMinor, 0)
	}
	part = rules.RefundShare(took, amount, f.RestoredMinor, w.parts[f.ID], before)
	return part, db.CommissionStatus(effects[i].Before.Status)
}

// taken returns the part of a commission that refunds of refunded minor units of the sale take.
func (w *restoring) taken(k db.Commission, refunded int64) int64 {
	before := k.RefundedBeforeMinor
	first := w.sale.AmountMinor + w.sale.RefundedMinor - before
	return rules.RefundShare(k.AmountMinor+k.ShrunkMinor, first, refunded-before, 0, 0)
}

// tookOf returns the amount that a refund took from a commission.
func tookOf(e api.RefundedCommission) int64 {
	switch {
	case e.ClawbackMinor != 0:
		return e.ClawbackMinor
	case e.After.Status == api.CommissionStatusVoided:
		return e.Before.AmountMinor
	}
	return e.Before.AmountMinor - e.After.AmountMinor
}
