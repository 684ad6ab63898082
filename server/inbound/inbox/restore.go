package inbox

import (
	"context"
	"slices"
	"strings"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/inbound/processor"
	"rail/server/money/sale"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/work"
)

// restoration is refunded money of a sale that the merchant got back.
type restoration struct {
	source string // the dispute, reversal or refund at the processor
	of     func(db.Refund) bool
	names  []string // of the payment's levels, for a failed refund
	minor  int64    // 0: all that these refunds took
	at     clock.Time
	reason string
}

// restore restores refunds of a sale that are older than the restoration. The event is retried when a matching
// refund of the sale is recorded, since events come in any order.
func (a refunds) restore(ctx context.Context, r restoration) (outcome, error) {
	all, err := a.rows(ctx)
	if err != nil {
		return outcome{}, err
	}
	rows := a.restorable(all, r)
	o := ignored(codeRecorded, "No refund is recorded that this reverses, or it is already reversed.").of(a.s)
	o.keys = []string{work.RefundsKey(a.s.ID)}
	if r.names != nil {
		// The part of a level that was not taken comes back first. A refund that was restored before has used it up.
		short := shortfalls(all, r.names)
		for _, f := range rows {
			if f.RestoredMinor == 0 {
				r.minor -= short[f.ID]
			}
		}
	}
	if len(rows) == 0 || r.names != nil && r.minor <= 0 {
		return o, nil
	}
	in := sale.RestoreInput{
		SaleID: a.s.ID, SourceID: r.source, AmountMinor: r.minor, At: a.moment(r.at), Reason: r.reason,
	}
	for _, f := range rows {
		in.RefundIDs = append(in.RefundIDs, f.ID)
	}
	done, err := sale.Restore(ctx, a.u, in)
	if err != nil || done.AmountMinor == 0 {
		return o, err
	}
	o.refund = done.RefundID
	return o.recorded(), a.u.Reschedule(ctx, a.s.ProgramID, work.RefundsKey(a.s.ID))
}

// rows returns the refunds of the sale, oldest first.
func (a refunds) rows(ctx context.Context) ([]db.Refund, error) {
	return queries.RefundsOfSale(ctx, a.u.DB(), db.RefundsOfSaleParams{SaleID: &a.s.ID, OrgID: a.s.OrgID})
}

// restorable returns those of a sale's refunds that a restoration reverses, newest first.
func (a refunds) restorable(all []db.Refund, r restoration) []db.Refund {
	at := a.moment(r.at)
	rows := slices.DeleteFunc(slices.Clone(all), func(f db.Refund) bool {
		return !r.of(f) || f.RefundedAt.After(at.Time) || opt.Value(f.AmountMinor) == f.RestoredMinor
	})
	slices.Reverse(rows)
	return rows
}

// undone returns the restoration of a reversed refund. Stripe reports refunds as levels of a payment, so the
// refunds of the payment took its amount. It returns false if the amount has another currency than the sale, and its
// share of the payment is unknown.
func (a refunds) undone(f processor.Refund, reason string) (restoration, bool) {
	r := restoration{source: f.ID, at: f.At, reason: reason}
	if f.Single || f.OnTop {
		r.of = func(row db.Refund) bool {
			return opt.Value(row.ExternalRefundID) == f.ID || levelName(row) == (level{of: f.ID}).name()
		}
		return r, true
	}
	r.names = a.paymentNames(f.Link)
	r.of = func(row db.Refund) bool { return slices.Contains(r.names, levelName(row)) }
	var ok bool
	r.minor, ok = inCurrency(f.LevelMinor, f.OfMinor, f.Currency, a.s)
	return r, ok
}

// undo restores a reversed refund.
func (a refunds) undo(ctx context.Context, f processor.Refund, reason string) (outcome, error) {
	r, ok := a.undone(f, reason)
	if !ok {
		return a.foreign(f.Currency), nil
	}
	return a.restore(ctx, r)
}

// levelName returns the payment or dispute whose level a refund reached; "" for none.
func levelName(f db.Refund) string {
	if f.LevelMinor == nil {
		return ""
	}
	return strings.TrimSuffix(opt.Value(f.ExternalRefundID), level{minor: *f.LevelMinor}.id())
}

const failedReason = "The refund did not reach the customer."

// failedRefund leaves a failed refund to a person: the merchant may retry it in another way, or not at all.
func (a refunds) failedRefund(ctx context.Context, f processor.Refund) (outcome, error) {
	r, ok := a.undone(f, failedReason)
	if !ok {
		return a.foreign(f.Currency), nil
	}
	all, err := a.rows(ctx)
	if err != nil {
		return outcome{}, err
	}
	for _, row := range all {
		past, err := sale.Restorations(row)
		if err != nil {
			return outcome{}, err
		}
		for _, one := range past {
			if one.SourceID == f.ID {
				return ignored(codeRecorded, "The refund is already restored.").of(a.s), nil
			}
		}
	}
	if len(a.restorable(all, r)) > 0 {
		return failed(codeRefundFailed, failedReason+" Unless the merchant retries it, restore the commission: "+
			"use the button on the event's page, or POST /v1/inbox_events/{id}/resolve.").of(a.s), nil
	}
	o := ignored(codeNothingTaken, failedReason+" Rail had not deducted it from the sale, so there is nothing to do.").of(a.s)
	o.keys = []string{work.RefundsKey(a.s.ID)}
	return o, nil
}

// Resolve restores the amount that a failed refund took from a sale, and marks the event as recorded. A resolved
// event stays unchanged.
func Resolve(ctx context.Context, u *work.Unit, keeper *secret.Keeper, id string) (db.InboxEvent, error) {
	e, err := queries.InboxLockByID(ctx, u.DB(), db.InboxLockByIDParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return e, err
	}
	if err := u.CheckProgram(e.ProgramID); err != nil {
		return e, err
	}
	w := Worker{Keeper: keeper}
	c, body, err := w.open(ctx, u.DB(), e)
	if err != nil {
		return e, err
	}
	what := parse(c.Processor, body)
	f := opt.Value(what.r.Refund)
	switch {
	case f.Failed && e.Status == db.InboxStatusRecorded:
		return e, nil
	case !f.Failed || e.Status != db.InboxStatusFailed || opt.Value(e.ReasonCode) != codeRefundFailed || e.SaleID == nil:
		return e, problem.New(problem.InboxEventNotResolvable,
			"The event is %s; only an event with reason_code refund_failed can be resolved.", e.Status)
	}
	a := application{Worker: w, u: u, c: c, e: e, r: what.r}
	if a.r.At.IsZero() {
		a.r.At = e.CreatedAt
	}
	if err := a.resolve(ctx, f); err != nil {
		return e, err
	}
	return queries.InboxGet(ctx, u.DB(), db.InboxGetParams{ID: id, OrgID: u.OrgID})
}

func (a *application) resolve(ctx context.Context, f processor.Refund) error {
	s, err := queries.SaleGet(ctx, a.u.DB(), db.SaleGetParams{ID: *a.e.SaleID, OrgID: a.e.OrgID})
	if err != nil {
		return err
	}
	ids := append(linked(f.Link), s.ExternalChargeID)
	slices.Sort(ids)
	if err := a.lock(ctx, slices.Compact(ids)); err != nil {
		return err
	}
	of := refunds{a, s}
	r, ok := of.undone(f, failedReason)
	if !ok {
		return problem.New(problem.InboxEventNotResolvable, "%s", of.foreign(f.Currency).reason)
	}
	o, err := of.restore(ctx, r)
	if err != nil {
		return err
	}
	return a.finish(ctx, outcome{refund: o.refund}.recorded().of(s))
}
