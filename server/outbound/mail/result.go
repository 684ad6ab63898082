package mail

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/postgres/pgtx"
)

// The outcomes of an attempt.
const (
	sent    = "sent"
	failed  = "failed"
	skipped = "skipped" // unsubscribed, or its subject was deleted
	retried = "retried" // not final
)

// finish writes the final outcome of a mail, and counts it in its campaign. text is the error, or "".
func (s Sender) finish(ctx context.Context, m db.Mail, outcome, text string) error {
	s.count(outcome)
	return s.write(ctx, func(ctx context.Context, tx *pgtx.Tx) error {
		if _, err := campaignOf(ctx, tx, m); err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		return s.end(ctx, tx, m, outcome, text)
	})
}

// end writes the outcome of m's attempt. Matching on the number of attempts keeps a worker that was given up
// from ending a later attempt.
func (s Sender) end(ctx context.Context, tx *pgtx.Tx, m db.Mail, outcome, text string) error {
	p := db.MailFinishParams{Outcome: outcome, Now: s.now(), ID: m.ID, Attempts: m.Attempts}
	if text != "" {
		p.Error = &text
	}
	return queries.MailFinish(ctx, tx.Later(), p)
}

// later queues a mail for another attempt after wait. If its campaign was paused or restarted since the mail was
// written, the mail returns to the campaign, since the text may have changed.
func (s Sender) later(ctx context.Context, m db.Mail, wait time.Duration, text string) error {
	s.count(retried)
	return s.write(ctx, func(ctx context.Context, tx *pgtx.Tx) error {
		c, err := campaignOf(ctx, tx, m)
		if errors.Is(err, pgx.ErrNoRows) {
			return s.end(ctx, tx, m, skipped, skippedText)
		}
		if err != nil {
			return err
		}
		if c != nil && (c.Status != db.CampaignStatusSending || c.UpdatedAt.After(m.CreatedAt.Time)) {
			return s.back(ctx, tx, m)
		}
		next := s.now().Plus(wait)
		return queries.MailRetryLater(ctx, tx.Later(), db.MailRetryLaterParams{
			NextAttemptAt: &next, Error: &text, ID: m.ID, Attempts: m.Attempts,
		})
	})
}

// back removes a mail from the outbox. Its partner waits again, as a recipient of the campaign or at the step of
// the sequence.
func (s Sender) back(ctx context.Context, tx *pgtx.Tx, m db.Mail) error {
	now := s.now()
	return queries.MailReturn(ctx, tx.Later(), db.MailReturnParams{Now: &now, ID: m.ID, Attempts: m.Attempts})
}

// campaignOf locks the mail's campaign, if it has one. Changes to a campaign and its recipients lock the
// campaign first.
func campaignOf(ctx context.Context, tx *pgtx.Tx, m db.Mail) (*db.MailCampaignRow, error) {
	if m.CampaignID == nil {
		return nil, nil //nolint:nilnil // a mail without a campaign
	}
	c, err := queries.MailCampaign(ctx, tx, db.MailCampaignParams{ID: *m.CampaignID, OrgID: m.OrgID})
	return &c, err
}

// write writes the result of a mail, even while the server stops, since the mail was sent or not in any case.
func (s Sender) write(ctx context.Context, work func(context.Context, *pgtx.Tx) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resultTimeout)
	defer cancel()
	return insist(ctx, s.Pool, work)
}

const (
	// resultTimeout is how long writing a result is retried: a mail without a result counts as failed.
	resultTimeout = 30 * time.Second
	// pause is the time between two tries.
	pause = 100 * time.Millisecond
)

// insist repeats work on transient errors until ctx ends. A commit whose answer was lost is repeated too, so
// work must be idempotent.
func insist(ctx context.Context, pool *pgxpool.Pool, work func(context.Context, *pgtx.Tx) error) error {
	for {
		err := pgtx.Within(ctx, pool, func(tx *pgtx.Tx) error { return work(ctx, tx) })
		if err == nil || !transient(err) {
			return err
		}
		if clock.Wait(ctx, pause) != nil {
			return err
		}
	}
}

// transient reports whether an error of the database may pass: a lost race, a lock or statement timeout, a
// connection error, a fail-over.
func transient(err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pgtx.Again(err) {
		return true
	}
	class := []string{"08", "53", "57"} // connection, resources, operator intervention
	return pg.Code == "55P03" || pg.Code == "25006" ||
		slices.ContainsFunc(class, func(c string) bool { return strings.HasPrefix(pg.Code, c) })
}
