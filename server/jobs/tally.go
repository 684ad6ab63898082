package jobs

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/server/clock"
	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// tallyBatch bounds the differences that one transaction folds.
const tallyBatch = 5000

// foldTallies folds differences into the tallies, so that a reader of a total has few to add. Transactions write
// differences instead of totals, since all of them would have to wait for the row of a total.
func foldTallies(pool *pgxpool.Pool) Job {
	return Job{
		Name: "fold-tallies", About: "fold differences into the totals of lists", Every: time.Second, Sweeps: true,
		Run: func(ctx context.Context, _ clock.Time) error {
			return work.Drain(tallyBatch, func() (folded int64, err error) {
				err = pgtx.WithinUnhurried(ctx, pool, func(tx *pgtx.Tx) (err error) {
					folded, err = foldTally(ctx, tx)
					return err
				})
				return folded, err
			})
		},
	}
}

// foldTally folds one batch, unless another replica does: then it returns 0, which ends the job's round.
func foldTally(ctx context.Context, tx pgtx.DBTX) (folded int64, err error) {
	if mine, err := queries.TallyLock(ctx, tx); err != nil || !mine {
		return 0, err
	}
	return queries.TallyFold(ctx, tx, tallyBatch)
}

// forgetTallies deletes totals that are 0, such as those of deleted owners. It takes the lock of the fold, so
// that the two do not overlap.
func forgetTallies(pool *pgxpool.Pool) Job {
	return Job{
		Name: "forget-tallies", About: "delete totals of zero", Every: time.Hour, Sweeps: true,
		Run: func(ctx context.Context, _ clock.Time) error {
			return pgtx.WithinUnhurried(ctx, pool, func(tx *pgtx.Tx) error {
				if mine, err := queries.TallyLock(ctx, tx); err != nil || !mine {
					return err
				}
				return queries.TallyForget(ctx, tx.Later())
			})
		},
	}
}
