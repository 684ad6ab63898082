package commission

import (
	"context"

	"rail/gen/db"
	"rail/server/money/ledger"
	"rail/server/money/payout"
	"rail/server/money/report"
	"rail/server/money/rules"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/work"
	"rail/server/work/auditlog"
)

// Approve approves a pending commission. It becomes due if its holding period is over, else approved.
func Approve(ctx context.Context, u *work.Unit, id string, reason *string) (db.Commission, error) {
	k, err := lock(ctx, u, id)
	if err != nil {
		return k, err
	}
	if k.Status != db.CommissionStatusPending {
		return k, problem.New(problem.CommissionNotPending,
			"The commission is %s; only pending commissions can be approved.", k.Status)
	}
	// A manual approval overrides the flow's delay.
	k.Status, k.ApprovedAt = rules.ApprovedStatus(opt.Value(k.MatureAt), u.Now), &u.Now
	err = decide(ctx, u, &k, db.CommissionStatusPending, "commission.approved", reason)
	return k, err
}

// Reject rejects an unpaid commission permanently.
func Reject(ctx context.Context, u *work.Unit, id, reason string) (db.Commission, error) {
	k, err := lock(ctx, u, id)
	if err != nil {
		return k, err
	}
	if err := rejectable(k); err != nil {
		return k, err
	}
	outOfReach, err := Withdraw(ctx, u, k)
	if err != nil {
		return k, err
	}
	if outOfReach {
		return k, problem.New(problem.CommissionInPayout,
			"The commission is in the payout %s, which a payment rail is sending.", *k.PayoutID)
	}
	k.PayoutID = nil
	previous := k.Status
	k.Status, k.VoidedAt, k.VoidReason = db.CommissionStatusRejected, &u.Now, &reason
	// Recompute the report sums of its day without it.
	if err := report.TouchCommission(ctx, u, k); err != nil {
		return k, err
	}
	err = decide(ctx, u, &k, previous, "commission.rejected", &reason)
	return k, err
}

// Withdraw takes a commission out of its open payout, if it is in one: the payout shrinks by it. Every caller of Void
// whose commission may be in a payout calls it first. outOfReach reports that the payout is paid or in flight.
func Withdraw(ctx context.Context, u *work.Unit, k db.Commission) (outOfReach bool, err error) {
	if k.PayoutID == nil {
		return false, nil
	}
	return payout.Lower(ctx, u, *k.PayoutID, k.AmountMinor)
}

// rejectable returns nil for a commission whose whole amount is still unpaid.
func rejectable(k db.Commission) error {
	switch {
	case k.Status == db.CommissionStatusPaid:
		return problem.New(problem.CommissionAlreadyPaid,
			"The commission is paid; only unpaid commissions can be rejected.")
	case k.Status == db.CommissionStatusRejected || k.Status == db.CommissionStatusVoided:
		return problem.New(problem.CommissionNotOpen, "The commission is %s already.", k.Status)
	}
	if (k.ClawedMinor < 0) != (k.AmountMinor < 0) && k.ClawedMinor != 0 {
		return problem.New(problem.CommissionNotOpen,
			"Another commission returned the amount that a refund took from this one; deduct it with a commission with a negative amount.")
	}
	if k.ClawedMinor != 0 { // below 0 for a deduction that a reward reversed
		return problem.New(problem.CommissionNotOpen,
			"Refunds have clawed back %d of the commission's %d already.", k.ClawedMinor, k.AmountMinor)
	}
	return nil
}

// decide writes a decision on a commission, with its event, ledger move and audit entry. The statement also
// matches on the previous status, as a second guard behind the lock.
func decide(
	ctx context.Context, u *work.Unit, k *db.Commission, previous db.CommissionStatus, action string, reason *string,
) error {
	k.UpdatedAt = u.Now
	_, err := queries.CommissionSetStatus(ctx, u.Later(), db.CommissionSetStatusParams{
		Status: k.Status, ApprovedAt: k.ApprovedAt, VoidedAt: k.VoidedAt, VoidReason: k.VoidReason,
		UpdatedAt: k.UpdatedAt, ID: k.ID, OrgID: k.OrgID, Previous: previous,
	})
	if err != nil {
		return err
	}
	if err := ledger.Moved(ctx, u, previous, *k); err != nil {
		return err
	}
	return auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: k.ProgramID, Action: action, TargetID: k.ID, Reason: reason,
		Before: map[string]db.CommissionStatus{"status": previous},
		After:  map[string]db.CommissionStatus{"status": k.Status},
	})
}

// lock locks the partner, then the commission, as every write of money does.
func lock(ctx context.Context, u *work.Unit, id string) (db.Commission, error) {
	k, err := queries.CommissionGet(ctx, u.DB(), db.CommissionGetParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return k, err
	}
	if err := u.CheckProgram(k.ProgramID); err != nil {
		return k, err
	}
	errs := u.Each(ctx,
		func(tx pgtx.DBTX) error {
			_, err := queries.PartnerLock(ctx, tx, db.PartnerLockParams{ID: k.PartnerID, OrgID: u.OrgID})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			k, err = queries.CommissionLock(ctx, tx, db.CommissionLockParams{ID: id, OrgID: u.OrgID})
			return err
		})
	// If the partner was deleted, so was the commission; its own read returns the error.
	return k, errs[1]
}
