package jobs

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/front"
)

// purgeBatch bounds the rows, and so the locks, of one statement.
const purgeBatch = 1000

var queries = db.New()

// cleanUp removes what has expired.
func cleanUp(pool *pgxpool.Pool) Job {
	return Job{
		Name: "clean-up", About: "remove expired Idempotency-Key records", Every: time.Minute,
		Run: func(ctx context.Context, now clock.Time) error { return purgeKeys(ctx, pool, now) },
	}
}

func purgeKeys(ctx context.Context, pool *pgxpool.Pool, now clock.Time) error {
	for {
		n, err := queries.IdempotencyPurge(ctx, pool, db.IdempotencyPurgeParams{ValidSince: now.Plus(-front.Replay), Lim: purgeBatch})
		if err != nil || n < purgeBatch {
			return err
		}
	}
}
