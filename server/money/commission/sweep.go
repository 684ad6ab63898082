package commission

import (
	"context"
	"maps"
	"slices"

	"rail/gen/db"
	"rail/server/money/ledger"
	"rail/server/money/payout"
	"rail/server/money/report"
	"rail/server/postgres/pgtx"
	"rail/server/work"
	"rail/server/work/auditlog"
)

// maxSwept bounds the commissions that one transaction rejects, each with an event
// and a line of the audit log.
const maxSwept = 5_000

// Sums is money by currency, in minor units, of how many commissions.
type Sums struct {
	Count int64
	Minor map[string]int64
}

// add adds n commissions of one currency.
func (s *Sums) add(n int64, currency string, minor int64) {
	if s.Minor == nil {
		s.Minor = map[string]int64{}
	}
	s.Count += n
	s.Minor[currency] += minor
}

// Open is what a partner has earned and was not paid. Rejectable is what a hand could
// reject; Kept is on its way in a payout, or has been clawed back from, or is a
// clawback.
type Open struct{ Rejectable, Kept Sums }

// LookOpen sums what is open of a partner, and changes nothing.
func LookOpen(ctx context.Context, tx pgtx.DBTX, p db.Partner) (Open, error) {
	rows, err := queries.CommissionsOpen(ctx, tx, db.CommissionsOpenParams{
		ProgramID: p.ProgramID, OrgID: p.OrgID, PartnerID: p.ID,
	})
	var open Open
	for _, r := range rows {
		into := &open.Kept
		if r.Rejectable {
			into = &open.Rejectable
		}
		into.add(r.Commissions, r.Currency, r.AmountMinor)
	}
	return open, err
}

// Sweep is what RejectOpen did. Remaining is how many are left because one call takes
// so many at most.
type Sweep struct {
	Rejected, Kept Sums
	Remaining      int64
}

// RejectOpen rejects what is open of a partner as Reject does of one commission, the
// oldest first. The caller has locked the partner, and its customers before it, so
// that no sale adds one meanwhile.
func RejectOpen(ctx context.Context, u *work.Unit, p db.Partner, reason string) (Sweep, error) {
	// The payouts come first, as where one is marked as paid.
	payouts, err := queries.PayoutsUnsent(ctx, u.DB(), db.PayoutsUnsentParams{
		ProgramID: p.ProgramID, OrgID: p.OrgID, PartnerID: p.ID,
	})
	if err != nil {
		return Sweep{}, err
	}
	var open Open
	var rows []db.Commission
	if err := u.Together(ctx,
		func(tx pgtx.DBTX) (err error) { open, err = LookOpen(ctx, tx, p); return err },
		func(tx pgtx.DBTX) (err error) {
			rows, err = queries.CommissionsOpenLock(ctx, tx, db.CommissionsOpenLockParams{
				ProgramID: p.ProgramID, OrgID: p.OrgID, PartnerID: p.ID, PayoutIds: payouts, Lim: maxSwept,
			})
			return err
		}); err != nil {
		return Sweep{}, err
	}
	done := Sweep{Kept: open.Kept, Remaining: open.Rejectable.Count - int64(len(rows))}
	for _, k := range rows {
		done.Rejected.add(1, k.Currency, k.AmountMinor)
	}
	return done, rejectAll(ctx, u, p, rows, reason)
}

// rejectAll writes the rejection of rows that are locked, in as many statements
// whatever their number.
func rejectAll(ctx context.Context, u *work.Unit, p db.Partner, rows []db.Commission, reason string) error {
	if len(rows) == 0 {
		return nil
	}
	ids, left := make([]string, len(rows)), map[string]int64{}
	for i, k := range rows {
		ids[i] = k.ID
		if k.PayoutID != nil {
			left[*k.PayoutID] += k.AmountMinor
		}
	}
	// The sums of the days that they counted on are made again without them.
	if err := report.TouchCommissions(ctx, u, p.ProgramID, ids); err != nil {
		return err
	}
	if err := queries.CommissionsReject(ctx, u.Later(), db.CommissionsRejectParams{
		Now: &u.Now, Reason: &reason, Ids: ids, OrgID: p.OrgID,
	}); err != nil {
		return err
	}
	if err := tellRejected(ctx, u, p, rows, reason); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(left)) {
		if _, err := payout.Lower(ctx, u, id, left[id]); err != nil {
			return err
		}
	}
	return nil
}

// tellRejected writes what follows for each: its event, its move of money and its
// line in the audit log.
func tellRejected(ctx context.Context, u *work.Unit, p db.Partner, rows []db.Commission, reason string) error {
	was, targets := map[db.CommissionStatus][]db.Commission{}, make([]auditlog.Target, len(rows))
	for i, k := range rows {
		targets[i] = auditlog.Target{ID: k.ID, Before: map[string]db.CommissionStatus{"status": k.Status}}
		previous := k.Status
		k.Status = db.CommissionStatusRejected
		was[previous] = append(was[previous], k)
	}
	for _, previous := range slices.Sorted(maps.Keys(was)) {
		if err := ledger.Moved(ctx, u, previous, was[previous]...); err != nil {
			return err
		}
	}
	return auditlog.RecordEach(ctx, u, auditlog.Entry{
		ProgramID: p.ProgramID, Action: "commission.rejected", Reason: &reason,
		After: map[string]db.CommissionStatus{"status": db.CommissionStatusRejected},
	}, targets)
}
