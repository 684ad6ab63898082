package payout

import (
	"context"
	"errors"

	"rail/gen/db"
	"rail/server/auditlog"
	"rail/server/outbound/mail"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/work"
)

// MarkPaid settles a payout by hand that was paid outside of any rail, notifies
// its partner, and writes that to the audit log. A payment cannot lie in the
// future.
func MarkPaid(ctx context.Context, u *work.Unit, outbox *mail.Outbox, id string, payment Payment) (db.Payout, error) {
	p, err := lockByHand(ctx, u, id)
	if err != nil {
		return p, err
	}
	// After the lock, so that a payout of another program is a 404 whatever the body says.
	if payment.At.After(u.Now.Time) {
		return p, problem.Invalid("paid_at", "paid_at lies in the future.")
	}
	if p, err = Settle(ctx, u, p, payment); err != nil {
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

// Delete removes a payout by hand that was not paid, and writes that to the
// audit log. Its commissions are due again.
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
	// Read without a lock first: it names the partner, who is locked before it.
	p, err := queries.PayoutGet(ctx, u.DB(), db.PayoutGetParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return p, err
	}
	if err := u.CheckProgram(p.ProgramID); err != nil {
		return p, err
	}
	return lock(ctx, u, p)
}

// lock locks the partner, then the payout, and returns the payout as it is then:
// the order of every write of money.
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
