package jobs

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/server/clock"
	"rail/server/pgtx"
)

// tallyBatch bounds the differences that one transaction folds.
const tallyBatch = 5000

// foldTallies keeps the differences that a reader of tallies must add few.
func foldTallies(pool *pgxpool.Pool) Job {
	return Job{
		Name: "fold-tallies", About: "fold the differences of changed rows into the totals of lists", Every: time.Second,
		Run: func(ctx context.Context, _ clock.Time) error {
			folded := int64(tallyBatch)
			for folded == tallyBatch {
				err := pgtx.Within(ctx, pool, func(tx *pgtx.Tx) (err error) {
					folded, err = foldTally(ctx, tx)
					return err
				})
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// foldTally folds one batch, unless another replica does.
func foldTally(ctx context.Context, tx pgtx.DBTX) (folded int64, err error) {
	if mine, err := queries.TallyLock(ctx, tx); err != nil || !mine {
		return 0, err
	}
	if folded, err = queries.TallyFold(ctx, tx, tallyBatch); err != nil || folded == 0 {
		return 0, err
	}
	return folded, queries.TallyForget(ctx, tx)
}
