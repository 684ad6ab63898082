package sale

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/money/commission"
	"rail/server/money/payout"
	"rail/server/money/rules"
	"rail/server/work"
)

// takeCommission takes the refund's share of one commission and records its states before and after, for the
// answer.
func (w *refunding) takeCommission(ctx context.Context, u *work.Unit, k db.Commission) error {
	e := api.RefundedCommission{CommissionID: k.ID, PartnerID: k.PartnerID, Currency: k.Currency, Before: stateOf(k)}
	claws, err := w.reduce(ctx, u, &k, w.share(k))
	if err != nil {
		return err
	}
	if e.After = stateOf(k); claws != nil {
		e.ClawbackMinor, e.ClawbackID = -claws.AmountMinor, &claws.ID
		// The total is in the sale's currency; other currencies are in the effects.
		if claws.Kind == db.CommissionKindClawback && claws.Currency == w.sale.Currency {
			w.clawback -= claws.AmountMinor
		}
	}
	if e.After != e.Before || claws != nil {
		w.effects = append(w.effects, e)
	}
	return nil
}

// stateOf returns the fields of a commission that a refund can change.
func stateOf(k db.Commission) api.RefundedState {
	return api.RefundedState{AmountMinor: k.AmountMinor, Status: api.CommissionStatus(k.Status)}
}

// reduce takes part, in minor units, of a commission. An unpaid commission is voided or shrinks, and *k follows.
// For one that is paid or in flight, it creates and returns a clawback.
func (w *refunding) reduce(ctx context.Context, u *work.Unit, k *db.Commission, part int64) (*db.Commission, error) {
	switch {
	case part == 0 || k.Status == db.CommissionStatusRejected || k.Status == db.CommissionStatusVoided:
		return nil, nil //nolint:nilnil // nothing to take, or no money to take it from
	case k.Status == db.CommissionStatusPaid:
		return commission.Claw(ctx, u, *k, part)
	case k.ClawedMinor != 0:
		// An earlier refund clawed back from it in flight, or a restoration returned what was taken. Both are
		// separate commissions, so this part must be too.
		return commission.ClawOpen(ctx, u, *k, part)
	// The payout must shrink with the commission, unless it is in flight.
	case k.PayoutID != nil:
		outOfReach, err := payout.Lower(ctx, u, *k.PayoutID, part)
		if err != nil {
			return nil, err
		}
		if outOfReach { // in flight counts as paid (decisions, 100)
			return commission.Claw(ctx, u, *k, part)
		}
	}
	// The whole commission is refunded.
	if part == k.AmountMinor {
		w.voided++
		err := commission.Void(ctx, u, *k, commission.SaleRefunded)
		k.Status = db.CommissionStatusVoided
		return nil, err
	}
	return nil, w.shrink(ctx, u, k, part)
}

// shrink reduces an unpaid commission. The revenue that it was computed from shrinks in proportion (decisions,
// 202).
func (w *refunding) shrink(ctx context.Context, u *work.Unit, k *db.Commission, part int64) error {
	p := db.CommissionShrinkParams{PartMinor: part, RevenueMinor: k.RevenueMinor, UpdatedAt: u.Now, ID: k.ID,
		OrgID: k.OrgID}
	if k.RevenueMinor != nil {
		left := *k.RevenueMinor - rules.RefundShare(*k.RevenueMinor, w.sale.AmountMinor, 0, w.amount, 0)
		p.RevenueMinor = &left
	}
	k.AmountMinor -= part
	if err := queries.CommissionShrink(ctx, u.Later(), p); err != nil {
		return err
	}
	return commission.RecordShrink(ctx, u, *k, part)
}
