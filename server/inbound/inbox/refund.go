package inbox

import (
	"context"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/inbound/processor"
	"rail/server/money/sale"
	"rail/server/opt"
	"rail/server/work"
)

// refunds applies an event about the refunds of a sale, or about a dispute, which takes and returns money like
// them.
type refunds struct {
	*application
	s db.Sale
}

// saleOf returns the sale of a payment, or the outcome of an event that waits for it.
func (a *application) saleOf(ctx context.Context, l processor.Link, missing string) (db.Sale, *outcome, error) {
	sales, err := a.sales(ctx, l)
	if err != nil {
		return db.Sale{}, nil, err
	}
	if len(sales) > 0 {
		return sales[0], nil, nil
	}
	if end, err := a.optedOut(ctx, l, ""); err != nil || end != nil {
		return db.Sale{}, end, err
	}
	// The sale may have another id, known from an earlier event.
	others, err := queries.AliasesOf(ctx, a.u.DB(), db.AliasesOfParams{
		ProgramID: a.e.ProgramID, OrgID: a.e.OrgID, Aliases: linked(l),
	})
	return db.Sale{}, new(waiting(codeNoSale, missing, chargeKeys(append(linked(l), others...))...)), err
}

// refund refunds the sale of a payment, or waits for it.
func (a *application) refund(ctx context.Context, f processor.Refund) (outcome, error) {
	s, end, err := a.saleOf(ctx, f.Link, "The refunded payment is not recorded.")
	if err != nil || end != nil {
		return opt.Value(end), err
	}
	of := refunds{a, s}
	switch {
	case f.Failed:
		return of.failedRefund(ctx, f)
	case f.Undone:
		return of.undo(ctx, f, "The refund or reversal "+f.ID+" of the sale was reversed.")
	case f.OnTop:
		return of.refundOutside(ctx, f)
	case !f.Single:
		return of.refundToLevel(ctx, f)
	case f.Currency != "" && f.Currency != s.Currency:
		return of.foreign(f.Currency), nil
	}
	return of.singleRefund(ctx, f)
}

// singleRefund records one of several refunds, once.
func (a refunds) singleRefund(ctx context.Context, f processor.Refund) (outcome, error) {
	in := sale.RefundInput{SaleID: a.s.ID, ExternalID: opt.OrNil(f.ID), At: a.refundedAt(f.At), TestClock: !a.c.Livemode}
	if f.LevelMinor > 0 { // 0: the whole rest
		in.AmountMinor, in.Capped = &f.LevelMinor, true
	}
	done, err := sale.RefundCharge(ctx, a.u, a.e.ProgramID, a.s.ExternalChargeID, in)
	if err != nil {
		return outcome{}, err
	}
	o := outcome{refund: done.ID}.of(a.s)
	if done.Repeated && done.ID != opt.Value(a.e.RefundID) {
		o.status, o.code, o.reason = db.InboxStatusIgnored, codeRecorded, "The refund is already recorded."
	} else {
		o = o.recorded()
	}
	return o, a.u.Reschedule(ctx, a.s.ProgramID, work.RefundsKey(a.s.ID))
}

// refundedAt returns the time of a refund. nil leaves it to the rules, which use now, or the sale's time if that
// is later.
func (a refunds) refundedAt(at clock.Time) *clock.Time {
	at = a.moment(at)
	if a.c.Livemode && at.After(a.u.Now.Time) {
		return nil
	}
	return &at
}

// moment bounds a time of the event for the sale's refunds: not before the sale and, for a live event, not after
// the server's clock.
func (a refunds) moment(at clock.Time) clock.Time {
	if at.IsZero() {
		at = a.r.At
	}
	if a.c.Livemode && at.After(a.u.Now.Time) {
		at = a.u.Now
	}
	return clock.Later(at, a.s.OccurredAt)
}
