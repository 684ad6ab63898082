package payout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// Runs continues batches with more partners than Generate collects. Each page is a transaction that also stores
// the run's position: an interrupted run continues there on any replica, and a partner that is read twice
// already has its payout.
type Runs struct {
	Pool           *pgxpool.Pool
	HoldOnHighRisk bool
}

// Finish works until no run is left. It does one page of each in turn, so that a large program does not block
// the others. A failing run delays no other.
func (r Runs) Finish(ctx context.Context, u *work.Unit) error {
	failed := map[string]error{}
	for {
		worked, err := r.round(ctx, u, failed)
		if err != nil || !worked {
			return errors.Join(append(slices.Collect(maps.Values(failed)), err)...)
		}
	}
}

// round does a page of each run that has not failed, and reports whether it did any.
func (r Runs) round(ctx context.Context, u *work.Unit, failed map[string]error) (worked bool, err error) {
	for after := ""; ; {
		runs, err := queries.PayoutRuns(ctx, r.Pool, db.PayoutRunsParams{After: after, Lim: pageSize})
		if err != nil {
			return worked, err
		}
		for _, run := range runs {
			after = run.ID
			if failed[run.ID] != nil {
				continue
			}
			did, err := r.page(ctx, u, run)
			if err != nil {
				failed[run.ID] = fmt.Errorf("%s: %w", run.ID, err)
			}
			worked = worked || did && err == nil
		}
		if len(runs) < pageSize {
			return worked, nil
		}
	}
}

// page does the next page of a run, unless another replica works on it. The run's id is the request id of its
// events.
func (r Runs) page(ctx context.Context, u *work.Unit, of db.PayoutRunsRow) (did bool, err error) {
	u = u.For(of.OrgID)
	u.RequestID = of.ID
	err = u.Within(ctx, func(u *work.Unit) error {
		if _, err := u.Later().Exec(ctx, pgtx.Unhurried); err != nil {
			return err
		}
		run, err := queries.PayoutRunTake(ctx, u.Tx, db.PayoutRunTakeParams(of))
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		did = true
		return r.advance(ctx, u, run)
	})
	return did, err
}

// advance collects the next page. If orders joined the run, it starts over after its last page, since they may
// reach further.
func (r Runs) advance(ctx context.Context, u *work.Unit, run db.PayoutRun) error {
	o := Order{
		PeriodEnd: run.PeriodEnd, IgnoreMinimum: run.IgnoreMinimum, HoldOnHighRisk: r.HoldOnHighRisk,
		Automatic: run.Automatic,
	}
	if run.GroupID != "" {
		o.GroupID = &run.GroupID
	}
	var b db.PayoutBatch
	errs := u.Each(ctx,
		func(tx pgtx.DBTX) (err error) {
			b, err = queries.BatchLock(ctx, tx, db.BatchLockParams{ID: run.BatchID, OrgID: run.OrgID})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			o.Program, err = queries.ProgramGet(ctx, tx, db.ProgramGetParams{ID: run.ProgramID, OrgID: run.OrgID})
			return err
		})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	o.ofBatch = b.PeriodMonth
	last, err := o.page(ctx, u, b, run.AfterID)
	if err != nil {
		return err
	}
	if last != "" || run.Again {
		return queries.PayoutRunAdvance(ctx, u.Later(), db.PayoutRunAdvanceParams{
			AfterID: last, Again: run.Again && last != "", ID: run.ID, OrgID: run.OrgID,
		})
	}
	done := db.BatchFinishParams{UpdatedAt: u.Now, ID: b.ID, OrgID: b.OrgID}
	// The time of the order, not of the last page, marks the monthly run as done.
	if run.Automatic {
		done.AutoRunAt = &run.CreatedAt
	}
	if err := queries.BatchFinish(ctx, u.Later(), done); err != nil {
		return err
	}
	return queries.PayoutRunDelete(ctx, u.Later(), db.PayoutRunDeleteParams{ID: run.ID, OrgID: run.OrgID})
}
