package earn

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/call"
	"rail/server/clock"
	"rail/server/event"
	"rail/server/payout"
	"rail/server/pgtx"
	"rail/server/problem"
	"rail/server/report"
	"rail/server/rules"
)

// Refund is money given back of a sale: AmountMinor of what is left of it, or
// all of that where it is nil. At is nil for now.
type Refund struct {
	SaleID      string
	AmountMinor *int64
	At          *clock.Time
}

// Refunded tells what one refund did. Clawback is a positive magnitude.
type Refunded struct {
	Sale          db.Sale
	Voided        int64
	ClawbackMinor int64
	At            clock.Time
}

// refunding is one refund while it is worked out.
type refunding struct {
	sale        db.Sale
	commissions []db.Commission
	amount      int64 // given back now
	at          clock.Time
	whole       bool // nothing of the sale remains
	done        Refunded
	made        string // the clawback made last
}

// GiveBack refunds a sale (specification, Refund rules; decisions, 97 to 100):
// unpaid commissions are voided, or shrink in proportion; a paid one becomes a
// clawback. A sale that is refunded already is left alone.
func GiveBack(ctx context.Context, c *call.Call, r Refund) (Refunded, error) {
	w, err := hold(ctx, c, r.SaleID)
	if err != nil {
		return Refunded{}, err
	}
	if w.sale.RefundedAt != nil {
		return Refunded{Sale: w.sale, At: *w.sale.RefundedAt}, nil
	}
	if err := w.judge(c, r); err != nil {
		return Refunded{}, err
	}
	if err := w.takeSale(ctx, c); err != nil {
		return Refunded{}, err
	}
	if err := report.Touch(ctx, c, w.sale.ProgramID, w.sale.OccurredAt); err != nil {
		return Refunded{}, err
	}
	for _, k := range w.commissions {
		if err := w.takeCommission(ctx, c, k); err != nil {
			return Refunded{}, err
		}
	}
	w.done.Sale, w.done.At = w.sale, w.at
	return w.done, nil
}

// hold locks the customer, the partner, the sale and its commissions, in the
// order of every write of money, and reads them.
func hold(ctx context.Context, c *call.Call, id string) (refunding, error) {
	org := c.Key.OrgID
	var w refunding
	seen, err := queries.SaleGet(ctx, c.DB(), db.SaleGetParams{ID: id, OrgID: org})
	if err != nil {
		return w, err
	}
	if !c.Fits(seen.ProgramID) {
		return w, problem.NotFound("program_id")
	}
	partner := ""
	if seen.PartnerID != nil {
		partner = *seen.PartnerID
	}
	err = c.Together(ctx,
		func(tx pgtx.DBTX) error {
			_, err := queries.CustomerHold(ctx, tx, db.CustomerHoldParams{ID: seen.CustomerID, OrgID: org})
			return err
		},
		func(tx pgtx.DBTX) error {
			_, err := queries.PartnerLock(ctx, tx, db.PartnerLockParams{ID: partner, OrgID: org})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			w.sale, err = queries.SaleLock(ctx, tx, db.SaleLockParams{ID: id, OrgID: org})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			w.commissions, err = queries.SaleCommissions(ctx, tx, db.SaleCommissionsParams{SaleID: &id, OrgID: org})
			return err
		})
	return w, err
}

func (w *refunding) judge(c *call.Call, r Refund) error {
	w.at = c.Now
	if r.At != nil {
		w.at = *r.At
	}
	switch {
	case w.at.After(c.Now.Time):
		return problem.Invalid("refunded_at", "refunded_at lies in the future.")
	case w.at.Before(w.sale.OccurredAt.Time):
		return problem.Invalid("refunded_at", "refunded_at lies before the sale occurred, at %s.", w.sale.OccurredAt)
	}
	w.amount = w.sale.AmountMinor
	if r.AmountMinor != nil {
		w.amount = *r.AmountMinor
	}
	if w.amount > w.sale.AmountMinor {
		return problem.Invalid("amount_minor", "amount_minor must be at most %d, what is left of the sale.", w.sale.AmountMinor)
	}
	w.whole = w.amount == w.sale.AmountMinor
	return nil
}

// share is the part of total that this refund takes, after what earlier ones
// took: cumulative rounding, so that the parts sum to the whole.
func (w *refunding) share(total, taken int64) int64 {
	first := w.sale.AmountMinor + w.sale.RefundedMinor
	return rules.RefundShare(total, first, w.sale.RefundedMinor, w.amount, taken)
}

// takeSale writes the sale, its customer and the event. The working copy keeps
// the amounts of before, which the commissions' shares are taken of.
func (w *refunding) takeSale(ctx context.Context, c *call.Call) error {
	p := db.SaleRefundParams{
		AmountMinor: w.sale.AmountMinor, TaxMinor: w.sale.TaxMinor, RefundedMinor: w.sale.RefundedMinor, UpdatedAt: c.Now, ID: w.sale.ID, OrgID: w.sale.OrgID,
	}
	subject := event.Subject{ProgramID: w.sale.ProgramID, ID: w.sale.ID}
	if w.sale.PartnerID != nil {
		subject.PartnerID = *w.sale.PartnerID
	}
	if w.whole {
		p.RefundedAt = &w.at
		c.Events.Record("sale.refunded", subject, api.SaleRefundedData{
			SaleID: w.sale.ID, CustomerID: w.sale.CustomerID, PartnerID: w.sale.PartnerID, AmountMinor: w.amount, Currency: w.sale.Currency, RefundedAt: w.at,
		})
		customer := db.CustomerRefundedParams{UpdatedAt: c.Now, ID: w.sale.CustomerID, OrgID: w.sale.OrgID}
		if err := queries.CustomerRefunded(ctx, c.Later(), customer); err != nil {
			return err
		}
		return queries.SaleRefund(ctx, c.Later(), p)
	}
	p.AmountMinor -= w.amount
	p.RefundedMinor += w.amount
	if w.sale.TaxMinor != nil {
		left := min(*w.sale.TaxMinor-rules.RefundShare(*w.sale.TaxMinor, w.sale.AmountMinor, 0, w.amount, 0), p.AmountMinor)
		p.TaxMinor = &left
	}
	c.Events.Record("sale.updated", subject, api.SaleUpdatedData{
		SaleID: w.sale.ID, PartnerID: w.sale.PartnerID, AmountMinor: p.AmountMinor, Currency: w.sale.Currency, PreviousAmountMinor: w.sale.AmountMinor,
	})
	return queries.SaleRefund(ctx, c.Later(), p)
}

// takeCommission takes the refund's share of one commission, by its state.
func (w *refunding) takeCommission(ctx context.Context, c *call.Call, k db.Commission) error {
	part := w.share(k.AmountMinor+k.ShrunkMinor, k.ShrunkMinor+k.ClawedMinor)
	if k.ClawedMinor > 0 {
		// Earlier refunds met it in flight. What they clawed back is netted by
		// itself, so that this part must be too, whatever became of the payout.
		return w.clawOpen(ctx, c, k, part)
	}
	if k.Status == "due" && k.PayoutID != nil {
		leaves := part
		if w.whole {
			leaves = k.AmountMinor
		}
		outOfReach, err := payout.Lower(ctx, c, *k.PayoutID, leaves)
		if err != nil {
			return err
		}
		if outOfReach { // in flight counts as paid (decisions, 100)
			return w.claw(ctx, c, k, part)
		}
	}
	switch k.Status {
	case "paid":
		return w.claw(ctx, c, k, part)
	case "pending", "approved", "due":
		if w.whole || part == k.AmountMinor {
			w.done.Voided++
			return Void(ctx, c, k, "sale_refunded")
		}
		return w.shrink(ctx, c, k, part)
	}
	return nil // rejected and voided commissions hold no money
}

// claw makes a negative commission, due at once, which the partner's next
// payout nets.
func (w *refunding) claw(ctx context.Context, c *call.Call, k db.Commission, part int64) error {
	if part == 0 {
		return nil
	}
	w.done.ClawbackMinor += part
	noted := db.CommissionClawedParams{PartMinor: part, UpdatedAt: c.Now, ID: k.ID, OrgID: k.OrgID}
	if err := queries.CommissionClawed(ctx, c.Later(), noted); err != nil {
		return err
	}
	made := clawback(c, k, part)
	w.made = made.ID
	return add(ctx, c, made)
}

// clawOpen claws back from a commission that was in flight when an earlier
// refund met it. Where its payout failed and is open, the clawback enters it, so
// that no more is paid than is left.
func (w *refunding) clawOpen(ctx context.Context, c *call.Call, k db.Commission, part int64) error {
	if k.Status != "due" || k.PayoutID == nil || part == 0 {
		return w.claw(ctx, c, k, part)
	}
	held, err := payout.Enter(ctx, c, *k.PayoutID, -part)
	if err != nil {
		return err
	}
	if err := w.claw(ctx, c, k, part); err != nil || !held {
		return err
	}
	return payout.Hold(ctx, c, *k.PayoutID, w.made)
}

// shrink takes a part off an unpaid commission; the revenue that it is of
// shrinks with it (decisions, 202).
func (w *refunding) shrink(ctx context.Context, c *call.Call, k db.Commission, part int64) error {
	if part == 0 {
		return nil
	}
	p := db.CommissionShrinkParams{PartMinor: part, RevenueMinor: k.RevenueMinor, UpdatedAt: c.Now, ID: k.ID, OrgID: k.OrgID}
	if k.RevenueMinor != nil {
		left := *k.RevenueMinor - rules.RefundShare(*k.RevenueMinor, w.sale.AmountMinor, 0, w.amount, 0)
		p.RevenueMinor = &left
	}
	if err := queries.CommissionShrink(ctx, c.Later(), p); err != nil {
		return err
	}
	k.AmountMinor -= part
	return Shrunk(ctx, c, k, part)
}
