package payout

import (
	"context"
	"errors"

	"rail/gen/db"
	"rail/server/outbound/mail"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/work"
	"rail/server/work/auditlog"
)

// MarkPaid settles a payout that was paid outside of any rail, notifies its partner, and writes that to the
// audit log. The payment time must not be in the future.
func MarkPaid(ctx context.Context, u *work.Unit, outbox *mail.Outbox, keeper *secret.Keeper, id string,
	payment Payment) (db.Payout, error) {
	p, err := lockByHand(ctx, u, id)
	if err != nil {
		return p, err
	}
	// Checked after the lock, so that a payout of another program is a 404 whatever the body holds.
	if payment.At.After(u.Now.Time) {
		return p, problem.Invalid("paid_at", "paid_at is in the future.")
	}
	payment.ByHand = true
	if p, err = settleByHand(ctx, u, outbox, p, payment); err != nil {
		return p, err
	}
	return p, Issue(ctx, u, keeper, p)
}

// settleByHand is MarkPaid for a locked payout, without its statement.
func settleByHand(ctx context.Context, u *work.Unit, outbox *mail.Outbox, p db.Payout,
	payment Payment) (db.Payout, error) {
	p, err := Settle(ctx, u, p, payment)
	if err != nil {
		return p, err
	}
	if err := Notify(ctx, u, outbox, p); err != nil {
		return p, err
	}
	return p, auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: p.ProgramID, Action: "payout.marked_paid", TargetID: p.ID,
		After: map[string]any{"amount_minor": p.AmountMinor, "currency": p.Currency},
	})
}

// MarkFailed marks a payout that left in a file as failed, and writes that to the audit log. For a payout sent
// by a rail, only the rail or the operator knows whether money has moved.
func MarkFailed(ctx context.Context, u *work.Unit, id, why string) (db.Payout, error) {
	p, err := lockByHand(ctx, u, id)
	if err != nil {
		return p, err
	}
	return failByHand(ctx, u, p, Status{State: Rejected, Message: why})
}

// failByHand is MarkFailed for a locked payout. transfers are as in fail.
func failByHand(ctx context.Context, u *work.Unit, p db.Payout, status Status, transfers ...string) (db.Payout, error) {
	switch {
	case p.Status == db.PayoutStatusPaid:
		return p, problem.New(problem.PayoutAlreadyPaid, "The payout is paid; it can no longer fail.")
	case p.Status == db.PayoutStatusProcessing && !decidable(p):
		return p, inFlight(p)
	case p.Status != db.PayoutStatusProcessing:
		return p, problem.New(problem.PayoutNotPayable,
			"The payout is %s; only an exported payout can be marked as failed.", p.Status)
	}
	p, err := fail(ctx, u, p, status, transfers...)
	if err != nil {
		return p, err
	}
	return p, auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: p.ProgramID, Action: "payout.marked_failed", TargetID: p.ID, Reason: &status.Message,
		After: map[string]any{"amount_minor": p.AmountMinor, "currency": p.Currency},
	})
}

// Delete deletes an unpaid payout on request, and writes that to the audit log. Its commissions are due again.
func Delete(ctx context.Context, u *work.Unit, id string) error {
	p, err := lockByHand(ctx, u, id)
	if err != nil {
		return err
	}
	if err := Remove(ctx, u, p); err != nil {
		return err
	}
	return auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: p.ProgramID, Action: "payout.deleted", TargetID: p.ID, Before: map[string]any{
			"partner_id": p.PartnerID, "amount_minor": p.AmountMinor, "currency": p.Currency, "status": p.Status,
		},
	})
}

// lockByHand locks the payout that a request names, and its partner.
func lockByHand(ctx context.Context, u *work.Unit, id string) (db.Payout, error) {
	// Read without a lock first: the partner must be locked before the payout.
	p, err := queries.PayoutGet(ctx, u.DB(), db.PayoutGetParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return p, err
	}
	if err := u.CheckProgram(p.ProgramID); err != nil {
		return p, err
	}
	return lock(ctx, u, p)
}

// lock locks the partner, then the payout, in the order of every write of money, and returns the locked payout.
func lock(ctx context.Context, u *work.Unit, p db.Payout) (locked db.Payout, err error) {
	errs := u.Each(ctx,
		func(tx pgtx.DBTX) error {
			_, err := queries.PartnerLock(ctx, tx, db.PartnerLockParams{ID: p.PartnerID, OrgID: u.OrgID})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			locked, err = queries.PayoutLock(ctx, tx, db.PayoutLockParams{ID: p.ID, OrgID: u.OrgID})
			return err
		})
	return locked, errors.Join(errs...)
}
