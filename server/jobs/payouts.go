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

// batchDelay is how long after midnight of the first the month's batches are
// made (decisions, 124).
const batchDelay = 10 * time.Minute

// payoutsDue records an event, once, when a payout is due.
func payoutsDue(pool *pgxpool.Pool) Job {
	return Job{
		Name: "payouts-due", About: "tell of pending payouts whose day has come", Every: time.Minute,
		Run: func(ctx context.Context, now clock.Time) error {
			u := unit(pool, "payouts-due", now)
			return drain(moveBatch, func() (int, error) { return recordDue(ctx, u) })
		},
	}
}

// recordDue records a batch of events; the statement marks their payouts, so that
// each is recorded once.
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

// autoPayouts makes last month's batch of each program that wants that, from ten
// minutes into the month in the program's zone on. It goes by whether the month's automatic run was made,
// not by whether there is a batch: a batch that somebody asked for may lack
// partners. With any number of replicas, and after a late start, each run is made
// once. A program that fails delays no other, and is tried again.
func autoPayouts(m Means) Job {
	return Job{
		Name: "auto-payouts", About: "make last month's payout batch of programs that want it", Every: time.Minute,
		Run: func(ctx context.Context, now clock.Time) error {
			var failed error
			u := unit(m.Pool, "auto-payouts", now)
			// By id, a page at a time; a failed program is passed over until the next round.
			for after := ""; ; {
				programs, err := queries.ProgramsToBatch(ctx, m.Pool, db.ProgramsToBatchParams{
					After: after, Now: now, Settled: now.Plus(-batchDelay), Lim: moveBatch,
				})
				// Finish goes on with batches of many partners, those just begun among them.
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

// makeBatch begins one program's batch in a transaction of its own. The lock on
// the program makes another replica wait until the batch is there.
func makeBatch(ctx context.Context, m Means, u *work.Unit, p db.ProgramsToBatchRow) error {
	return u.For(p.OrgID).Within(ctx, func(u *work.Unit) error {
		// A batch of many partners takes longer than a request may.
		if _, err := u.Later().Exec(ctx, pgtx.Unhurried); err != nil {
			return err
		}
		program, err := queries.ProgramLock(ctx, u.DB(), db.ProgramLockParams(p))
		if err != nil {
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

// generatePayouts finishes batches of more partners than a request collects.
func generatePayouts(m Means) Job {
	return Job{
		Name: "generate-payouts", About: "go on with payout batches of many partners", Every: 2 * time.Second,
		Run: func(ctx context.Context, now clock.Time) error {
			return runs(m).Finish(ctx, unit(m.Pool, "generate-payouts", now))
		},
	}
}

// runs returns what continues unfinished batches.
func runs(m Means) payout.Runs { return payout.Runs{Pool: m.Pool, HoldOnHighRisk: m.HoldOnHighRisk} }

// sendPayouts gives due payouts to the operator's payment rails, if there are any,
// and follows them until they are paid or have failed.
func sendPayouts(m Means) Job {
	return Job{
		Name: "send-payouts", About: "give payouts that are due to payment rails, and settle what those have paid",
		Every: 10 * time.Second,
		Run: func(ctx context.Context, now clock.Time) error {
			if actual := m.Clock.Now(); actual.Before(now.Time) {
				now = actual // no money moves ahead of its time, whatever time the job is given
			}
			sender := payout.Sender{
				Pool: m.Pool, Keeper: m.Keeper, Rails: m.Rails, Mail: m.Outbox, HoldOnHighRisk: m.HoldOnHighRisk,
			}
			return sender.Run(ctx, unit(m.Pool, "send-payouts", now))
		},
	}
}
