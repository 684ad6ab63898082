package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/inbound/backfill"
	"rail/server/inbound/inbox"
)

const (
	// reconcileDays is how far back a nightly run reads: Stripe lists events for 30 days.
	reconcileDays = 29
	// reconcileHour is the hour of the nightly run, in UTC.
	reconcileHour = 3
	// reconcileAgain is when a failed run is retried.
	reconcileAgain = 6 * time.Hour
	// minMissingAge is the minimum age of a missing event: younger ones may still be delivered.
	minMissingAge = 15 * time.Minute
	// maxLogged bounds the differences of a log line.
	maxLogged = 50
)

// Backfill returns a reader of past Stripe events.
func (m Deps) Backfill() backfill.Backfill {
	return backfill.Backfill{
		Box: inbox.Box{Pool: m.Pool, Keeper: m.Keeper, Clock: m.Clock}, Worker: inboxWorker(m), Stripe: m.StripeURL,
	}
}

// reconcile compares Stripe's events with the recorded ones, every night. It starts at a connection's creation
// at the earliest: events before that may have been recorded in another way.
func reconcile(m Deps) Job {
	return Job{
		Name: "reconcile", About: "record Stripe events of the last 30 days that the inbox missed, every night",
		Every: 5 * time.Minute,
		Run: func(ctx context.Context, now clock.Time) error {
			var failed error
			for {
				c, err := queries.ConnectionReconcile(ctx, m.Pool, db.ConnectionReconcileParams{
					Now: now, Made: now.Days(-1), Until: new(now.Plus(reconcileAgain)),
				})
				if errors.Is(err, pgx.ErrNoRows) {
					return failed
				}
				if err != nil {
					return errors.Join(failed, err)
				}
				failed = errors.Join(failed, m.reconcileOne(ctx, c, now))
			}
		},
	}
}

func (m Deps) reconcileOne(ctx context.Context, c db.ProcessorConnection, now clock.Time) error {
	since, until := clock.Later(now.Days(-reconcileDays), c.CreatedAt), now.Plus(-minMissingAge)
	report, err := m.Backfill().Run(ctx, c, since, until)
	m.logReport(ctx, report)
	if err != nil {
		return err
	}
	return queries.ConnectionSetReconcileAt(ctx, m.Pool, db.ConnectionSetReconcileAtParams{
		Next: new(nextNight(now)), ID: c.ID, OrgID: c.OrgID,
	})
}

// nextNight returns the start of the next nightly run that is not about now.
func nextNight(now clock.Time) clock.Time {
	day := now.UTC().Truncate(24 * time.Hour).Add(reconcileHour * time.Hour)
	for day.Sub(now.Time) < 12*time.Hour {
		day = day.AddDate(0, 0, 1)
	}
	return clock.At(day)
}

// logReport logs a report in one line, as a warning if it needs attention.
func (m Deps) logReport(ctx context.Context, r backfill.Report) {
	if m.Log == nil {
		return
	}
	level := slog.LevelInfo
	if len(r.Differences) > 0 {
		level = slog.LevelWarn
	}
	listed, err := json.Marshal(r.Differences[:min(len(r.Differences), maxLogged)])
	if err != nil {
		listed = nil
	}
	m.Log.Log(ctx, level, "reconciled", "connection", r.ConnectionID, "skipped", r.Skipped, "since", r.Since.String(),
		"until", r.Until.String(), "seen", r.Seen, "known", r.Known, "missing", r.Missing, "recorded", r.Recorded,
		"ignored", r.Ignored, "waiting", r.Waiting, "failed", r.Failed, "different", r.Different,
		"differences", string(listed))
}
