package jobs

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/server/clock"
	"rail/server/money/sale"
	"rail/server/work"
)

// expireRefunds gives up on refunds whose sale has not come. They stay in the list, as unmatched.
func expireRefunds(pool *pgxpool.Pool) Job {
	return Job{
		Name: "expire-refunds", About: "give up on refunds that have waited 30 days for their sale", Every: time.Minute,
		Run: func(ctx context.Context, now clock.Time) error {
			return work.Drain(purgeBatch, func() (n int64, err error) {
				err = unit(pool, "expire-refunds", now).Within(ctx, func(u *work.Unit) (err error) {
					n, err = sale.ExpireRefunds(ctx, u, now.Plus(-work.MaxWait), purgeBatch)
					return err
				})
				return n, err
			})
		},
	}
}
