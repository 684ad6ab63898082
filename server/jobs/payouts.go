package jobs

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/auth"
	"rail/server/call"
	"rail/server/clock"
	"rail/server/event"
	"rail/server/ident"
	"rail/server/payout"
	"rail/server/pgtx"
)

// batchDelay is how long after midnight of the first the month's batches are
// made (decisions, 124).
const batchDelay = 10 * time.Minute

// payoutsDue tells, once, that a payout's day has come.
func payoutsDue(pool *pgxpool.Pool) Job {
	return Job{
		Name: "payouts-due", About: "tell of pending payouts whose day has come", Every: time.Minute,
		Run: func(ctx context.Context, now clock.Time) error {
			run := ident.New(ident.Run)
			return drain(moveBatch, func() (int, error) { return tellDue(ctx, pool, now, run) })
		},
	}
}

func tellDue(ctx context.Context, pool *pgxpool.Pool, now clock.Time, run string) (int, error) {
	return event.Within(ctx, pool, run, now, func(tx *pgtx.Tx, told *event.Recorders) (int, error) {
		due, err := queries.PayoutsDue(ctx, tx, db.PayoutsDueParams{Now: now, Lim: moveBatch})
		for _, p := range due {
			told.Of(p.OrgID).Record("payout.due", event.Subject{ProgramID: p.ProgramID, PartnerID: p.PartnerID, ID: p.ID}, api.PayoutDueData{
				PayoutID: p.ID, PartnerID: p.PartnerID, AmountMinor: p.AmountMinor, Currency: p.Currency, DueAt: p.DueAt,
			})
		}
		return len(due), err
	})
}

// autoPayouts makes last month's batch of each program that wants it, from ten
// minutes into the month on. A batch that is there is left alone, so that any
// number of replicas, and a late start, make each one once.
func autoPayouts(m Means) Job {
	pool := m.Pool
	return Job{
		Name: "auto-payouts", About: "make last month's payout batch of programs that want it", Every: time.Minute,
		Run: func(ctx context.Context, now clock.Time) error {
			first := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
			if now.Before(first.Add(batchDelay)) {
				return nil
			}
			month := first.AddDate(0, -1, 0)
			programs, err := queries.ProgramsToBatch(ctx, pool, month)
			if err != nil {
				return err
			}
			run := ident.New(ident.Run)
			for _, p := range programs {
				if err := makeBatch(ctx, m, now, run, p, clock.At(first.Add(-time.Microsecond))); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// makeBatch generates one program's batch in a transaction of its own. Another
// replica that was first holds the program until its batch is there.
func makeBatch(ctx context.Context, m Means, now clock.Time, run string, p db.ProgramsToBatchRow, end clock.Time) error {
	return call.New(m.Pool, run, "auto-payouts", auth.Key{OrgID: p.OrgID}, now).Within(ctx, func(c *call.Call) error {
		program, err := queries.ProgramLock(ctx, c.DB(), db.ProgramLockParams(p))
		if err != nil {
			return err
		}
		_, _, err = payout.Generate(ctx, c, payout.Order{Program: program, PeriodEnd: end, HoldOnHighRisk: m.HoldOnHighRisk})
		return err
	})
}

// sendPayouts gives payouts that are due to the operator's payment rails, where
// there are any, and follows them to their end.
func sendPayouts(m Means) Job {
	return Job{
		Name: "send-payouts", About: "give payouts that are due to payment rails, and settle what those have paid", Every: 10 * time.Second,
		Run: func(ctx context.Context, now clock.Time) error {
			if actual := m.Clock.Now(); actual.Before(now.Time) {
				now = actual // no money moves ahead of its time, whatever the job is told
			}
			return payout.Sender{Pool: m.Pool, Keeper: m.Keeper, Rails: m.Rails, Mail: m.Outbox, HoldOnHighRisk: m.HoldOnHighRisk}.Run(ctx, now, ident.New(ident.Run))
		},
	}
}
