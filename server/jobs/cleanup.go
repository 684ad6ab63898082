package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/auth/attempt"
	"rail/server/clock"
	"rail/server/inbound/importer"
	"rail/server/program/risk"
	"rail/server/team"
	"rail/server/work"
)

const (
	// purgeBatch bounds the rows, and so the locks, of one statement.
	purgeBatch = 1000
	// minRetention is the minimum retention of events and deliveries in days: a replay may go back that far.
	minRetention = 30
	// idleBucketDays is after how many days the bucket of an unused key is deleted.
	idleBucketDays = 1
	// aliasDays is the retention of a processor's other ids of a payment. Later refunds and disputes do not use them:
	// banks give their customers 18 months at most.
	aliasDays = 730
)

var queries = db.New()

// cleanUp deletes expired rows, table by table. A failure in one table does not stop the others.
func cleanUp(m Deps) Job {
	return Job{
		Name:  "clean-up",
		About: "delete expired Idempotency-Key records, sign-in links, sessions and unconfirmed applications, and mails, partners' addresses and import reports past their retention", Every: time.Minute, Sweeps: true,
		Run: func(ctx context.Context, now clock.Time) error {
			var failed error
			for _, purge := range purges(ctx, m.Pool, now, m.retentionStart(now)) {
				failed = errors.Join(failed, work.Drain(purgeBatch, purge))
			}
			return failed
		},
	}
}

// retentionStart returns the time before which events and their deliveries expire.
func (m Deps) retentionStart(now clock.Time) clock.Time {
	return now.Days(-int64(max(m.RetentionDays, minRetention)))
}

// purges returns functions that each delete one batch, or cancel one of deliveries. oldest is the result of
// retentionStart.
func purges(ctx context.Context, pool *pgxpool.Pool, now, oldest clock.Time) []func() (int64, error) {
	return []func() (int64, error){
		func() (int64, error) {
			return queries.WebhookCancelDisabled(ctx, pool, db.WebhookCancelDisabledParams{Now: &now, Lim: purgeBatch})
		},
		func() (int64, error) {
			return queries.IdempotencyPurge(ctx, pool, db.IdempotencyPurgeParams{
				ValidSince: now.Plus(-work.Replay), Lim: purgeBatch,
			})
		},
		func() (int64, error) {
			return queries.MagicLinksPurge(ctx, pool, db.MagicLinksPurgeParams{Now: now, Lim: purgeBatch})
		},
		func() (int64, error) {
			return queries.PortalSessionsPurge(ctx, pool, db.PortalSessionsPurgeParams{Now: now, Lim: purgeBatch})
		},
		func() (int64, error) {
			return queries.JoinRequestsPurge(ctx, pool, db.JoinRequestsPurgeParams{Now: now, Lim: purgeBatch})
		},
		func() (int64, error) {
			return queries.UserSessionsPurge(ctx, pool, db.UserSessionsPurgeParams{
				Now: now, IdleSince: now.Plus(-team.Idle), Lim: purgeBatch,
			})
		},
		func() (int64, error) {
			return queries.UserLinksPurge(ctx, pool, db.UserLinksPurgeParams{Now: now, Lim: purgeBatch})
		},
		func() (int64, error) {
			return queries.SignInFailuresPurge(ctx, pool, db.SignInFailuresPurgeParams{
				Before: now.Plus(-attempt.Window), Lim: purgeBatch,
			})
		},
		func() (int64, error) {
			return queries.PartnerAddressesPurge(ctx, pool, db.PartnerAddressesPurgeParams{
				Before: now.Days(-risk.AddressDays), Lim: purgeBatch,
			})
		},
		func() (int64, error) {
			return queries.RatePurge(ctx, pool, db.RatePurgeParams{Before: now.Days(-idleBucketDays), Lim: purgeBatch})
		},
		func() (int64, error) {
			return queries.OptOutsPurge(ctx, pool, db.OptOutsPurgeParams{Before: now.Days(-inboxDays), Lim: purgeBatch})
		},
		func() (int64, error) {
			return queries.InboxPurge(ctx, pool, db.InboxPurgeParams{Before: new(now.Days(-inboxDays)), Lim: purgeBatch})
		},
		func() (int64, error) {
			return queries.AliasesPurge(ctx, pool, db.AliasesPurgeParams{Before: now.Days(-aliasDays), Lim: purgeBatch})
		},
		func() (int64, error) {
			return queries.MailsPurge(ctx, pool, db.MailsPurgeParams{Before: oldest, Lim: purgeBatch})
		},
		func() (int64, error) {
			return queries.ImportRowsPurge(ctx, pool, db.ImportRowsPurgeParams{
				Before: now.Plus(-importer.ReportLife), Lim: purgeBatch,
			})
		},
		func() (int64, error) {
			return queries.ImportKeysPurge(ctx, pool, db.ImportKeysPurgeParams{
				Before: now.Plus(-importer.ReportLife), Lim: purgeBatch,
			})
		},
	}
}
