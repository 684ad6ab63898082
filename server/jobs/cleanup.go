package jobs

import (
	"context"
	"errors"
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
func cleanUp(m Means) Job {
	return Job{
		Name: "clean-up", About: "remove expired Idempotency-Key records, sign-in links and portal sessions, and events, deliveries, mails and partners' addresses past their retention", Every: time.Minute,
		Run: func(ctx context.Context, now clock.Time) error {
			return errors.Join(purgeKeys(ctx, m.Pool, now), purgeSignIns(ctx, m.Pool, now), purgeAddresses(ctx, m.Pool, now), queries.WebhookCancelOff(ctx, m.Pool, &now), purgeEvents(ctx, m.Pool, now.Days(-int64(max(m.RetentionDays, minRetention)))))
		},
	}
}

// minRetention is how many days events and deliveries are kept at least
// (decisions, 168).
const minRetention = 30

// purgeEvents forgets deliveries, and then the events that none needs.
func purgeEvents(ctx context.Context, pool *pgxpool.Pool, before clock.Time) error {
	for _, purge := range []func() (int64, error){
		func() (int64, error) {
			return queries.WebhookPurge(ctx, pool, db.WebhookPurgeParams{Before: before, Lim: purgeBatch})
		},
		func() (int64, error) {
			return queries.MailsPurge(ctx, pool, db.MailsPurgeParams{Before: before, Lim: purgeBatch})
		},
		func() (int64, error) {
			return queries.EventsPurge(ctx, pool, db.EventsPurgeParams{Before: before, Lim: purgeBatch})
		},
	} {
		if err := drain(purgeBatch, purge); err != nil {
			return err
		}
	}
	return nil
}

func purgeKeys(ctx context.Context, pool *pgxpool.Pool, now clock.Time) error {
	return drain(purgeBatch, func() (int64, error) {
		return queries.IdempotencyPurge(ctx, pool, db.IdempotencyPurgeParams{ValidSince: now.Plus(-front.Replay), Lim: purgeBatch})
	})
}

// purgeSignIns forgets sign-in links and portal sessions that have run out.
func purgeSignIns(ctx context.Context, pool *pgxpool.Pool, now clock.Time) error {
	return errors.Join(
		drain(purgeBatch, func() (int64, error) {
			return queries.MagicLinksPurge(ctx, pool, db.MagicLinksPurgeParams{Now: now, Lim: purgeBatch})
		}),
		drain(purgeBatch, func() (int64, error) {
			return queries.PortalSessionsPurge(ctx, pool, db.PortalSessionsPurgeParams{Now: now, Lim: purgeBatch})
		}))
}
