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

// maxSwept bounds how many commissions one transaction rejects, each with an event and an audit entry.
const maxSwept = 5_000

// Sums holds a number of commissions and their money by currency, in minor units.
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

// Unpaid sums a partner's unpaid earnings. Rejectable can be rejected manually. NotRejectable is in a payout in
// flight, is a clawback, or was partly clawed back.
type Unpaid struct{ Rejectable, NotRejectable Sums }

// SumOpen sums a partner's unpaid earnings and changes nothing.
func SumOpen(ctx context.Context, tx pgtx.DBTX, p db.Partner) (Unpaid, error) {
	rows, err := queries.CommissionsOpen(ctx, tx, db.CommissionsOpenParams{
		ProgramID: p.ProgramID, OrgID: p.OrgID, PartnerID: p.ID,
	})
	var open Unpaid
	for _, r := range rows {
		into := &open.NotRejectable
		if r.Rejectable {
			into = &open.Rejectable
		}
		into.add(r.Commissions, r.Currency, r.AmountMinor)
	}
	return open, err
}

// Sweep is the result of RejectOpen. Remaining counts the commissions beyond the limit of one call.
type Sweep struct {
	Rejected, Kept Sums
	Remaining      int64
}

// RejectOpen rejects a partner's unpaid commissions as Reject does, the oldest first. The caller has locked the
// partner's customers and then the partner, so that no sale adds a commission at the same time.
func RejectOpen(ctx context.Context, u *work.Unit, p db.Partner, reason string) (Sweep, error) {
	// Payouts are locked first, as when one is marked as paid.
	payouts, err := queries.PayoutsLockUnsent(ctx, u.DB(), db.PayoutsLockUnsentParams{
		ProgramID: p.ProgramID, OrgID: p.OrgID, PartnerID: p.ID,
	})
	if err != nil {
		return Sweep{}, err
	}
	var open Unpaid
	var rows []db.Commission
	if err := u.Together(ctx,
		func(tx pgtx.DBTX) (err error) { open, err = SumOpen(ctx, tx, p); return err },
		func(tx pgtx.DBTX) (err error) {
			rows, err = queries.CommissionsOpenLock(ctx, tx, db.CommissionsOpenLockParams{
				ProgramID: p.ProgramID, OrgID: p.OrgID, PartnerID: p.ID, PayoutIds: payouts, Lim: maxSwept,
			})
			return err
		}); err != nil {
		return Sweep{}, err
	}
	done := Sweep{Kept: open.NotRejectable, Remaining: open.Rejectable.Count - int64(len(rows))}
	for _, k := range rows {
		done.Rejected.add(1, k.Currency, k.AmountMinor)
	}
	return done, rejectAll(ctx, u, p, rows, reason)
}

// rejectAll writes the rejection of locked rows, with the same number of statements for any number of rows.
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
	// Recompute the report sums of their days without them.
	if err := report.TouchCommissions(ctx, u, p.ProgramID, ids); err != nil {
		return err
	}
	if err := queries.CommissionsReject(ctx, u.Later(), db.CommissionsRejectParams{
		Now: &u.Now, Reason: &reason, Ids: ids, OrgID: p.OrgID,
	}); err != nil {
		return err
	}
	if err := recordRejections(ctx, u, p, rows, reason); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(left)) {
		if _, err := payout.Lower(ctx, u, id, left[id]); err != nil {
			return err
		}
	}
	return nil
}

// recordRejections writes the event, the ledger move and the audit entry of each rejection.
func recordRejections(ctx context.Context, u *work.Unit, p db.Partner, rows []db.Commission, reason string) error {
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
