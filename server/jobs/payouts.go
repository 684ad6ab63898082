package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/clock"
	"rail/server/money/payout"
	"rail/server/postgres/pgtx"
	"rail/server/work"
	"rail/server/work/event"
)

// batchDelay is how long after midnight of the first the month's batches are created (decisions, 124).
const batchDelay = 10 * time.Minute

// payoutsDue emits payout.due, once, for payouts whose due date has passed.
func payoutsDue(pool *pgxpool.Pool) Job {
	return Job{
		Name: "payouts-due", About: "emit payout.due for payouts whose due date has passed", Every: time.Minute,
		Run: func(ctx context.Context, now clock.Time) error {
			u := unit(pool, "payouts-due", now)
			return work.Drain(moveBatch, func() (int, error) { return recordDue(ctx, u) })
		},
	}
}

// recordDue records a batch of events; the statement marks their payouts, so that each is recorded once.
func recordDue(ctx context.Context, u *work.Unit) (n int, err error) {
	err = u.Within(ctx, func(u *work.Unit) error {
		due, err := queries.PayoutsDue(ctx, u.Tx, db.PayoutsDueParams{Now: u.Now, Lim: moveBatch})
		for _, p := range due {
			about := event.Subject{ProgramID: p.ProgramID, PartnerID: p.PartnerID, ID: p.ID}
			u.For(p.OrgID).Record(about, events.PayoutDue(api.PayoutDueData{
				PayoutID: p.ID, PartnerID: p.PartnerID, AmountMinor: p.AmountMinor, Currency: p.Currency, DueAt: p.DueAt,
			}))
		}
		n = len(due)
		return err
	})
	return n, err
}

// autoPayouts creates last month's batch of each program that wants it, from ten minutes into the month in the
// program's time zone. It checks whether the month's automatic run was made, not whether there is a batch: a
// manual batch may lack partners. Each run is made once, with any number of replicas and after a late start. A
// failing program delays no other, and is retried.
func autoPayouts(m Deps) Job {
	return Job{
		Name: "auto-payouts", About: "create last month's payout batch of programs with automatic payouts", Every: time.Minute,
		Run: func(ctx context.Context, now clock.Time) error {
			var failed error
			u := unit(m.Pool, "auto-payouts", now)
			// By id, a page at a time; a failed program is skipped until the next round.
			for after := ""; ; {
				programs, err := queries.ProgramsToBatch(ctx, m.Pool, db.ProgramsToBatchParams{
					After: after, Now: now, Settled: now.Plus(-batchDelay), Lim: moveBatch,
				})
				// Finish continues batches with many partners, including those just begun: this job alone completes a
				// month when an operator runs it.
				if err != nil || len(programs) == 0 {
					return errors.Join(failed, err, runs(m).Finish(ctx, u))
				}
				for _, p := range programs {
					after = p.ID
					if err := makeBatch(ctx, m, u, p); err != nil {
						failed = errors.Join(failed, fmt.Errorf("%s: %w", p.ID, err))
					}
				}
			}
		},
	}
}

// makeBatch begins one program's batch in a separate transaction. The lock on the program makes another replica
// wait until the batch exists.
func makeBatch(ctx context.Context, m Deps, u *work.Unit, p db.ProgramsToBatchRow) error {
	return u.For(p.OrgID).Within(ctx, func(u *work.Unit) error {
		// A batch with many partners takes longer than a request may.
		if _, err := u.Later().Exec(ctx, pgtx.Unhurried); err != nil {
			return err
		}
		program, err := queries.ProgramLock(ctx, u.DB(), db.ProgramLockParams(p))
		if err != nil || !program.AutoPayoutsEnabled { // switched off since it was listed
			return err
		}
		zone := clock.StoredZone(program.TimeZone)
		first := clock.MonthOf(u.Now.DayIn(zone))
		end := clock.Midnight(first, zone).Plus(-time.Microsecond)
		o := payout.Order{Program: program, PeriodEnd: end, HoldOnHighRisk: m.HoldOnHighRisk, Automatic: true}
		_, _, err = payout.Generate(ctx, u, o)
		return err
	})
}

// generatePayouts finishes batches with more partners than a request collects.
func generatePayouts(m Deps) Job {
	return Job{
		Name: "generate-payouts", About: "continue payout batches with many partners", Every: 2 * time.Second,
		Run: func(ctx context.Context, now clock.Time) error {
			return runs(m).Finish(ctx, unit(m.Pool, "generate-payouts", now))
		},
	}
}

// runs continues unfinished batches.
func runs(m Deps) payout.Runs { return payout.Runs{Pool: m.Pool, HoldOnHighRisk: m.HoldOnHighRisk} }

// sendPayouts sends due payouts to the operator's payment rails, if there are any, and follows them until they
// are paid or failed.
func sendPayouts(m Deps) Job {
	return Job{
		Name: "send-payouts", About: "send due payouts to payment rails, and settle paid ones",
		Every: 10 * time.Second,
		Run: func(ctx context.Context, now clock.Time) error {
			if actual := m.Clock.Now(); actual.Before(now.Time) {
				now = actual // no money moves early, whatever time the job is given
			}
			sender := payout.Sender{
				Pool: m.Pool, Keeper: m.Keeper, Rails: m.Rails, Mail: m.Outbox, HoldOnHighRisk: m.HoldOnHighRisk,
				Open: m.OpenRail,
			}
			return sender.Run(ctx, unit(m.Pool, "send-payouts", now))
		},
	}
}
