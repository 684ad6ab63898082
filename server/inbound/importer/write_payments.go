package importer

import (
	"context"
	"errors"
	"strings"

	"rail/gen/db"
	"rail/server/inbound/importer/source"
	"rail/server/money/commission"
	"rail/server/money/payout"
)

// The bounds of payouts, and of the commissions that they pay, in one transaction. A payout with more commissions is
// written alone.
const (
	paymentSize = 50
	paidSize    = 500
)

// limitPayments leaves out the last payouts of a batch if they pay too many commissions.
func (b *batch) limitPayments(ctx context.Context, p *place) error {
	if b.kind != payments {
		return nil
	}
	ids := make([]string, len(b.rows))
	for i, r := range b.rows {
		ids[i] = r.target
	}
	rows, err := queries.ImportPayoutSizes(ctx, b.u.Tx, db.ImportPayoutSizesParams{
		ImportID: b.m.ID, OrgID: b.m.OrgID, PayoutIds: ids,
	})
	if err != nil {
		return err
	}
	sizes := map[string]int64{}
	for _, r := range rows {
		sizes[r.PayoutID] = r.Commissions
	}
	if n := countFitting(ids, sizes); n < len(b.rows) {
		last := b.rows[n-1]
		p.Done -= int64(len(b.rows) - n)
		b.rows, p.At, p.ID = b.rows[:n], last.At, last.SourceID
	}
	return nil
}

// countFitting returns how many of payouts, at least one, have at most paidSize commissions together.
func countFitting(payouts []string, sizes map[string]int64) int {
	sum := int64(0)
	for i, id := range payouts {
		if sum += sizes[id]; sum > paidSize && i > 0 {
			return i
		}
	}
	return len(payouts)
}

// writePayout writes a payout with the commissions that it pays. Commissions that Rail has paid or is paying are left
// out.
func (w *writer) writePayout(ctx context.Context, r *row) error {
	of, err := decode[source.Payout](r.Data)
	if err != nil {
		return err
	}
	paid, sum, err := w.lockPaid(ctx, w.pays[r.target])
	if err != nil {
		return err
	}
	if sum > 0 {
		if sum, err = w.correctPaid(ctx, paid); err != nil {
			return err
		}
	}
	if sum <= 0 {
		for _, k := range paid {
			if err := w.fail(ctx, commissions, k.row, "not_changed",
				"Its payout would not be positive, because Rail has paid or refused the others."); err != nil {
				return err
			}
		}
		return conflictf("not_changed", "It pays no commission that Rail has not paid already.")
	}
	err = payout.Import(ctx, w.u, w.program, w.batches, payout.Imported{
		ID: r.target, PartnerID: r.refs.Partner, Currency: of.Currency, ImportID: w.m.ID, AmountMinor: sum,
		Method: methodOf(of.Method), PaidAt: w.past(*of.PaidAt),
	})
	if err != nil {
		return err
	}
	return w.pay(ctx, paid)
}

// readCommissions reads the commissions that the payouts of the batch pay.
func (w *writer) readCommissions(ctx context.Context) error {
	var ids []string
	for _, r := range w.rows {
		ids = append(ids, r.target)
	}
	stored, err := queries.ImportRowsOfPayouts(ctx, w.u.Tx, db.ImportRowsOfPayoutsParams{
		ImportID: w.m.ID, OrgID: w.m.OrgID, PayoutIds: ids,
	})
	if err != nil {
		return err
	}
	rows := make([]*row, len(stored))
	w.pays = map[string][]*row{}
	for i, k := range stored {
		rows[i] = rowOf(k)
		w.pays[rows[i].refs.Payout] = append(w.pays[rows[i].refs.Payout], rows[i])
	}
	if err := w.followMoves(ctx, commissions, rows); err != nil {
		return err
	}
	if err := w.rebindCommissions(ctx, rows); err != nil {
		return err
	}
	return w.readEarlier(ctx, commissions, rows)
}

// paidCommission is a commission that an imported payout pays. now is the open commission in Rail, if it has one.
type paidCommission struct {
	*row
	of  source.Commission
	now db.Commission
}

// lockPaid locks the commissions that a payout pays, and returns them with their sum in minor units. Deductions in Rail
// keep their amounts.
func (w *writer) lockPaid(ctx context.Context, rows []*row) (paid []paidCommission, sum int64, err error) {
	for _, r := range rows {
		if r.outcome != db.ImportRowOutcomeNew && r.outcome != db.ImportRowOutcomeChanged {
			if r.outcome == db.ImportRowOutcomeSame { // bound since the comparison, and paid or void in Rail
				w.remember(&w.paid, r.SourceID, r)
			}
			continue
		}
		of, err := decode[source.Commission](r.Data)
		if err != nil {
			return nil, 0, err
		}
		k := paidCommission{row: r, of: of}
		if r.outcome == db.ImportRowOutcomeChanged {
			k.now, err = w.changeable(ctx, r, of)
			if k.now.AmountMinor < 0 {
				k.of.AmountMinor = k.now.AmountMinor
			}
		}
		if refused, err := w.refuseConflict(ctx, commissions, r, err); refused || err != nil {
			if err != nil {
				return nil, 0, err
			}
			continue
		}
		paid, sum = append(paid, k), sum+k.of.AmountMinor
	}
	return paid, sum, nil
}

// correctPaid gives commissions in Rail the amounts that the source has paid, and returns the sum in minor units. An
// amount that cannot be corrected stays.
func (w *writer) correctPaid(ctx context.Context, paid []paidCommission) (sum int64, err error) {
	for i := range paid {
		k := &paid[i]
		of, err := decode[source.Commission](k.Data)
		if err != nil {
			return 0, err
		}
		if k.outcome == db.ImportRowOutcomeChanged && of.AmountMinor != k.now.AmountMinor {
			corrected, err := w.correct(ctx, k.now, of)
			if c, is := errors.AsType[conflict](err); is {
				w.found = append(w.found, finding{source.KindCommission, k.SourceID, c.code, c.detail})
			} else if k.now = corrected; err != nil {
				return 0, err
			}
			k.of.AmountMinor = k.now.AmountMinor
		}
		sum += k.of.AmountMinor
	}
	return sum, nil
}

// pay writes the commissions of a payout, in parts that bound the statements that are held.
func (w *writer) pay(ctx context.Context, paid []paidCommission) error {
	for i, k := range paid {
		var err error
		if k.outcome == db.ImportRowOutcomeNew {
			err = commission.Import(ctx, w.u, w.newCommission(k.row, k.of))
		} else {
			err = commission.ImportPaid(ctx, w.u, k.now, k.refs.Payout)
		}
		if err != nil {
			return err
		}
		if w.remember(&w.paid, k.SourceID, k.row); (i+1)%writeSize == 0 {
			if err := w.put(ctx, &w.paid); err != nil {
				return err
			}
		}
	}
	return nil
}

// methodOf returns a payout method of Rail, nil for any other.
func methodOf(name string) *string {
	switch name = strings.ToLower(name); name {
	case "paypal", "wise", "bank_transfer", "wire", "crypto":
		return &name
	}
	return nil
}
