package commission

import (
	"context"

	"rail/gen/db"
	"rail/server/ident"
	"rail/server/money/ledger"
	"rail/server/money/report"
	"rail/server/money/rules"
	"rail/server/outbound/sequence"
	"rail/server/problem"
	"rail/server/work"
)

// Manual is a commission made by hand: a reward, or, with a negative amount in
// minor units, a clawback (decisions, 106). Its references were judged.
type Manual struct {
	ProgramID, PartnerID string
	SaleID, CustomerID   *string
	AmountMinor          int64
	Currency             string
	HoldingPeriodDays    int64
}

// Grant writes the commission. A reward is approved and waits for the holding
// period; a clawback is due at once. One for a sale is refunded with it, so that
// a refunded sale takes none.
func Grant(ctx context.Context, u *work.Unit, m Manual) (db.Commission, error) {
	refunded, err := m.refundedBefore(ctx, u)
	if err != nil {
		return db.Commission{}, err
	}
	kind, matureAt := db.CommissionKindReward, rules.MatureAt(u.Now, m.HoldingPeriodDays)
	if m.AmountMinor < 0 {
		kind, matureAt = db.CommissionKindClawback, u.Now
	}
	k := db.Commission{
		ID: ident.New(ident.Commission), OrgID: u.OrgID, ProgramID: m.ProgramID, PartnerID: m.PartnerID, SaleID: m.SaleID,
		CustomerID: m.CustomerID, Kind: kind, AmountMinor: m.AmountMinor, Currency: m.Currency,
		Status: rules.InitialStatus(rules.ApproveImmediately, matureAt, u.Now), MatureAt: &matureAt, ApprovedAt: &u.Now,
		RefundedBeforeMinor: refunded, CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	if err := add(ctx, u, k); err != nil || kind != db.CommissionKindReward {
		return k, err
	}
	return k, sequence.Earned(ctx, u.Later(), k)
}

// refundedBefore is what was given back of the sale until now.
func (m Manual) refundedBefore(ctx context.Context, u *work.Unit) (int64, error) {
	if m.SaleID == nil {
		return 0, nil
	}
	sale, err := queries.SaleShare(ctx, u.DB(), db.SaleShareParams{ID: *m.SaleID, OrgID: u.OrgID})
	if err == nil && sale.RefundedAt != nil {
		return 0, problem.On("sale_id", problem.SaleRefunded, "The sale was refunded at %s; a commission cannot be made for it.", sale.RefundedAt)
	}
	return sale.RefundedMinor, err
}

// add puts a new commission, its ledger entry and its events behind the writes
// of the call.
func add(ctx context.Context, u *work.Unit, k db.Commission) error {
	err := queries.CommissionInsert(ctx, u.Later(), db.CommissionInsertParams(k))
	if err != nil {
		return err
	}
	tell(u, k)
	if k.Kind == db.CommissionKindReward && k.SaleID != nil {
		if err := report.TouchCommission(ctx, u, k); err != nil {
			return err
		}
	}
	return ledger.Earn(ctx, u.Later(), ledger.Of(k, k.CreatedAt))
}
