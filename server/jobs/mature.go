package jobs

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/money/ledger"
	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// moveBatch bounds the commissions of one transaction, so that no request waits long for a locked row.
const moveBatch = 500

// mature makes approved commissions due when their holding period is over.
func mature(pool *pgxpool.Pool) Job {
	return Job{
		Name: "mature-commissions", About: "make approved commissions due at the end of their holding period",
		Every: 10 * time.Second,
		Run: func(ctx context.Context, now clock.Time) error {
			return move(ctx, unit(pool, "mature-commissions", now), db.CommissionStatusApproved,
				func(tx pgtx.DBTX) ([]db.Commission, error) {
					return queries.CommissionsToMature(ctx, tx, db.CommissionsToMatureParams{Now: now, Lim: moveBatch})
				})
		},
	}
}

// approve approves pending commissions when their delay is over.
func approve(pool *pgxpool.Pool) Job {
	return Job{
		Name: "approve-commissions", About: "approve pending commissions at the end of their approval delay",
		Every: 10 * time.Second,
		Run: func(ctx context.Context, now clock.Time) error {
			return move(ctx, unit(pool, "approve-commissions", now), db.CommissionStatusPending,
				func(tx pgtx.DBTX) ([]db.Commission, error) {
					return queries.CommissionsToApprove(ctx, tx, db.CommissionsToApproveParams{Now: &now, Lim: moveBatch})
				})
		},
	}
}

// move moves commissions out of a state until none is left, in batches that are each one transaction with their
// ledger entries and events.
func move(ctx context.Context, u *work.Unit, previous db.CommissionStatus,
	take func(pgtx.DBTX) ([]db.Commission, error)) error {
	return work.Drain(moveBatch, func() (int, error) { return moveSome(ctx, u, previous, take) })
}

// moveSome moves one batch. A batch has rows of many organizations, and events belong to one, so it handles each
// in turn.
func moveSome(
	ctx context.Context, u *work.Unit, previous db.CommissionStatus, take func(pgtx.DBTX) ([]db.Commission, error),
) (n int, err error) {
	err = u.Within(ctx, func(u *work.Unit) error {
		taken, err := take(u.Tx)
		if err != nil {
			return err
		}
		owned := map[string][]db.Commission{}
		// By organization, like the ledger entries and events.
		for _, k := range taken {
			owned[k.OrgID] = append(owned[k.OrgID], k)
		}
		for org, rows := range owned {
			if err := ledger.Moved(ctx, u.For(org), previous, rows...); err != nil {
				return err
			}
		}
		n = len(taken)
		return nil
	})
	return n, err
}

// expire expires referrals after their cookie window. Attribution checks the time itself, so a delay does no
// harm; the status is for people and lists.
func expire(pool *pgxpool.Pool) Job {
	return Job{
		Name: "expire-referrals", About: "expire referrals at the end of their cookie window", Every: time.Minute,
		Run: func(ctx context.Context, now clock.Time) error {
			return work.Drain(purgeBatch, func() (int64, error) {
				return queries.ReferralsExpire(ctx, pool, db.ReferralsExpireParams{Now: now, Lim: purgeBatch})
			})
		},
	}
}
