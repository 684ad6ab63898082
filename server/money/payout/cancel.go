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

// cancelled is how many payouts one call undoes at most.
const cancelled = 10 * pageSize

// Undone is what of a batch was undone.
type Undone struct {
	Payouts     []Sum // by currency
	NotEligible int64
	Kept        int64 // payouts that stay
	More        bool  // more can be undone
}

// count is how many payouts that had passed their checks were undone.
func (d Undone) count() (n int64) {
	for _, s := range d.Payouts {
		n += s.Payouts
	}
	return n
}

// Sum is a number of payouts and what was to be paid by them.
type Sum struct {
	Currency    string `json:"currency"`
	Payouts     int64  `json:"payout_count"`
	AmountMinor int64  `json:"amount_minor"`
}

// Cancel deletes the payouts of a batch that have not been paid and are not in flight, as
// Delete would each; with exported also what left in a file, by the caller's word that
// nobody is paid by it.
//
// Locks are taken in the order of Generate: program, batch, partners, payouts.
func Cancel(ctx context.Context, u *work.Unit, id string, exported bool) (done Undone, err error) {
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
		func(tx pgtx.DBTX) error { return settled(ctx, tx, b) })
	if err := errors.Join(errs...); err != nil {
		return done, err
	}
	c := cancellation{batch: b, filed: exported, sums: map[string]Sum{}}
	if err := c.run(ctx, u); err != nil {
		return c.done, err
	}
	u.Record(event.Subject{ProgramID: b.ProgramID, ID: b.ID}, events.PayoutBatchCancelled(api.PayoutBatchCancelledData{
		BatchID: b.ID, Payouts: c.done.count(), NotEligible: c.done.NotEligible, Kept: c.done.Kept,
	}))
	return c.done, auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: b.ProgramID, Action: "payout_batch.cancelled", TargetID: b.ID,
		Before: map[string]any{"payouts": c.done.Payouts, "not_eligible": c.done.NotEligible, "exported": exported},
	})
}

// cancellation is one call of Cancel on its way.
type cancellation struct {
	batch db.PayoutBatch
	filed bool           // also what left in a file
	sums  map[string]Sum // by currency
	done  Undone
}

// run undoes what can be undone, a page at a time.
func (c *cancellation) run(ctx context.Context, u *work.Unit) error {
	rail := inFile
	var found []db.PayoutsToCancelRow
	err := u.Together(ctx,
		func(tx pgtx.DBTX) (err error) {
			found, err = queries.PayoutsToCancel(ctx, tx, db.PayoutsToCancelParams{
				BatchID: c.batch.ID, OrgID: c.batch.OrgID, Filed: c.filed, Rail: &rail, Lim: cancelled + 1,
			})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			c.done.Kept, err = queries.PayoutsOfBatch(ctx, tx, db.PayoutsOfBatchParams{
				BatchID: c.batch.ID, OrgID: c.batch.OrgID,
			})
			return err
		})
	if err != nil {
		return err
	}
	if c.done.More = len(found) > cancelled; c.done.More {
		found = found[:cancelled]
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

// page undoes what can still be undone of some payouts, once their partners are locked.
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
			payouts, err = queries.PayoutsUndone(ctx, tx, db.PayoutsUndoneParams{
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

// undo counts a payout that goes, and records what happens to it: what left in a file fails
// before it goes.
func (c *cancellation) undo(u *work.Unit, p db.Payout) {
	if c.done.Kept--; p.Status == db.PayoutStatusNotEligible {
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
