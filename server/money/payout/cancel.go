package payout

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/postgres/pgtx"
	"rail/server/work"
	"rail/server/work/auditlog"
	"rail/server/work/event"
)

// maxCancel bounds how many payouts one call cancels.
const maxCancel = 10 * pageSize

// CancelResult is the result of Cancel.
type CancelResult struct {
	Payouts     []Sum // by currency
	NotEligible int64
	Remaining   int64 // payouts that stay
	More        bool  // another call can cancel more
}

// count returns the number of cancelled payouts that had passed their checks.
func (d CancelResult) count() (n int64) {
	for _, s := range d.Payouts {
		n += s.Payouts
	}
	return n
}

// Sum is a number of payouts and their amount.
type Sum struct {
	Currency    string `json:"currency"`
	Payouts     int64  `json:"payout_count"`
	AmountMinor int64  `json:"amount_minor"`
}

// Cancel deletes the payouts of a batch that are neither paid nor in flight, as Delete does for one. With
// exported it also deletes payouts that left in a file; the caller asserts that they will not be paid.
//
// Locks are taken in the order of Generate: program, batch, partners, payouts.
func Cancel(ctx context.Context, u *work.Unit, id string, exported bool) (done CancelResult, err error) {
	b, err := queries.BatchGet(ctx, u.DB(), db.BatchGetParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return done, err
	}
	if err := u.CheckProgram(b.ProgramID); err != nil {
		return done, err
	}
	errs := u.Each(ctx,
		func(tx pgtx.DBTX) error {
			_, err := queries.ProgramLock(ctx, tx, db.ProgramLockParams{ID: b.ProgramID, OrgID: b.OrgID})
			return err
		},
		func(tx pgtx.DBTX) error {
			_, err := queries.BatchLock(ctx, tx, db.BatchLockParams{ID: b.ID, OrgID: b.OrgID})
			return err
		},
		func(tx pgtx.DBTX) error { return checkGenerated(ctx, tx, b) })
	if err := errors.Join(errs...); err != nil {
		return done, err
	}
	c := cancellation{batch: b, filed: exported, sums: map[string]Sum{}}
	if err := c.run(ctx, u); err != nil {
		return c.done, err
	}
	u.Record(event.Subject{ProgramID: b.ProgramID, ID: b.ID}, events.PayoutBatchCancelled(api.PayoutBatchCancelledData{
		BatchID: b.ID, Payouts: c.done.count(), NotEligible: c.done.NotEligible, Kept: c.done.Remaining,
	}))
	return c.done, auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: b.ProgramID, Action: "payout_batch.cancelled", TargetID: b.ID,
		Before: map[string]any{"payouts": c.done.Payouts, "not_eligible": c.done.NotEligible, "exported": exported},
	})
}

// cancellation is a running call of Cancel.
type cancellation struct {
	batch db.PayoutBatch
	filed bool           // include payouts that left in a file
	sums  map[string]Sum // by currency
	done  CancelResult
}

// run cancels payouts, a page at a time.
func (c *cancellation) run(ctx context.Context, u *work.Unit) error {
	rail := inFile
	var found []db.PayoutsToCancelRow
	err := u.Together(ctx,
		func(tx pgtx.DBTX) (err error) {
			found, err = queries.PayoutsToCancel(ctx, tx, db.PayoutsToCancelParams{
				BatchID: c.batch.ID, OrgID: c.batch.OrgID, Filed: c.filed, Rail: &rail, Lim: maxCancel + 1,
			})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			c.done.Remaining, err = queries.PayoutsOfBatch(ctx, tx, db.PayoutsOfBatchParams{
				BatchID: c.batch.ID, OrgID: c.batch.OrgID,
			})
			return err
		})
	if err != nil {
		return err
	}
	if c.done.More = len(found) > maxCancel; c.done.More {
		found = found[:maxCancel]
	}
	for some := range slices.Chunk(found, pageSize) {
		if err := c.page(ctx, u, some); err != nil {
			return err
		}
	}
	c.done.Payouts = slices.SortedFunc(maps.Values(c.sums),
		func(a, b Sum) int { return cmp.Compare(a.Currency, b.Currency) })
	return nil
}

// page locks the partners of some payouts, and cancels the payouts that are still open.
func (c *cancellation) page(ctx context.Context, u *work.Unit, some []db.PayoutsToCancelRow) error {
	rail := inFile
	ids, partners := make([]string, len(some)), make([]string, len(some))
	for i, p := range some {
		ids[i], partners[i] = p.ID, p.PartnerID
	}
	var payouts []db.Payout
	err := u.Together(ctx,
		func(tx pgtx.DBTX) error {
			return queries.PartnersLock(ctx, tx, db.PartnersLockParams{Ids: partners, OrgID: u.OrgID})
		},
		func(tx pgtx.DBTX) (err error) {
			payouts, err = queries.PayoutsLockUndoable(ctx, tx, db.PayoutsLockUndoableParams{
				Ids: ids, OrgID: u.OrgID, Filed: c.filed, Rail: &rail,
			})
			return err
		})
	if err != nil {
		return err
	}
	ids = ids[:0]
	for _, p := range payouts {
		ids = append(ids, p.ID)
		c.undo(u, p)
	}
	err = queries.PayoutsRelease(ctx, u.Later(), db.PayoutsReleaseParams{
		UpdatedAt: u.Now, PayoutIds: ids, OrgID: u.OrgID,
	})
	if err != nil {
		return err
	}
	return queries.PayoutsDelete(ctx, u.Later(), db.PayoutsDeleteParams{Ids: ids, OrgID: u.OrgID})
}

// undo counts and records the deletion of a payout; an exported payout fails first.
func (c *cancellation) undo(u *work.Unit, p db.Payout) {
	if c.done.Remaining--; p.Status == db.PayoutStatusNotEligible {
		c.done.NotEligible++
	} else {
		sum := c.sums[p.Currency]
		c.sums[p.Currency] = Sum{p.Currency, sum.Payouts + 1, sum.AmountMinor + p.AmountMinor}
	}
	if filed(p) {
		u.Record(about(p), failure(p, "cancelled", "The batch was cancelled; the file was not sent."))
	}
	u.Record(about(p), events.PayoutDeleted(api.PayoutDeletedData{PayoutID: p.ID, PartnerID: p.PartnerID}))
}
