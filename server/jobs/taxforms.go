package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/server/clock"
	"rail/server/money/tax"
	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// expireTaxForms retires tax forms that have expired, and asks for new ones.
func expireTaxForms(pool *pgxpool.Pool) Job {
	return Job{
		Name: "expire-tax-forms", About: "expire tax forms, and request new ones", Every: time.Minute,
		Run: func(ctx context.Context, now clock.Time) error {
			return errors.Join(work.Drain(moveBatch, func() (int, error) { return expireSomeForms(ctx, pool, now) }),
				tax.RequireRemaining(ctx, pool, now))
		},
	}
}

// expireSomeForms retires one batch and returns its size.
func expireSomeForms(ctx context.Context, pool *pgxpool.Pool, now clock.Time) (n int, err error) {
	err = pgtx.Within(ctx, pool, func(tx *pgtx.Tx) error {
		n, err = tax.Expire(ctx, tx, now, moveBatch)
		return err
	})
	return n, err
}
