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

// The ways in which a mail ends.
const (
	sent    = "sent"
	failed  = "failed"
	skipped = "skipped" // its reader wants none, or what it belongs to is gone
	retried = "retried" // it has not ended
)

// done ends a mail with an outcome, and counts it in its campaign. text is the
// error, "" for none.
func (s Sender) done(ctx context.Context, m db.Mail, outcome, text string) error {
	s.count(outcome)
	return s.write(ctx, func(ctx context.Context, tx *pgtx.Tx) error {
		if _, err := campaignOf(ctx, tx, m); err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		return s.end(ctx, tx, m, outcome, text)
	})
}

// end writes the outcome of the attempt that m is of: the number of attempts
// keeps a worker that was given up from ending the next attempt.
func (s Sender) end(ctx context.Context, tx *pgtx.Tx, m db.Mail, outcome, text string) error {
	p := db.MailDoneParams{Outcome: outcome, Now: s.now(), ID: m.ID, Attempts: m.Attempts}
	if text != "" {
		p.Error = &text
	}
	return queries.MailDone(ctx, tx.Later(), p)
}

// later queues a mail for another attempt after wait. If its campaign was paused
// or started anew since the mail was written, the mail goes back to the campaign:
// the text may have changed.
func (s Sender) later(ctx context.Context, m db.Mail, wait time.Duration, text string) error {
	s.count(retried)
	return s.write(ctx, func(ctx context.Context, tx *pgtx.Tx) error {
		c, err := campaignOf(ctx, tx, m)
		if errors.Is(err, pgx.ErrNoRows) {
			return s.end(ctx, tx, m, skipped, gone)
		}
		if err != nil {
			return err
		}
		if c != nil && (c.Status != db.CampaignStatusSending || c.UpdatedAt.After(m.CreatedAt.Time)) {
			return s.back(ctx, tx, m)
		}
		next := s.now().Plus(wait)
		return queries.MailAgain(ctx, tx.Later(), db.MailAgainParams{
			NextAttemptAt: &next, Error: &text, ID: m.ID, Attempts: m.Attempts,
		})
	})
}

// back takes a mail out of the outbox. Its partner waits again, as a recipient of
// the campaign or at the step of the sequence.
func (s Sender) back(ctx context.Context, tx *pgtx.Tx, m db.Mail) error {
	now := s.now()
	return queries.MailBack(ctx, tx.Later(), db.MailBackParams{Now: &now, ID: m.ID, Attempts: m.Attempts})
}

// campaignOf locks the mail's campaign, if it has one. Whatever changes a campaign
// and its recipients locks the campaign first.
func campaignOf(ctx context.Context, tx *pgtx.Tx, m db.Mail) (*db.MailCampaignRow, error) {
	if m.CampaignID == nil {
		return nil, nil //nolint:nilnil // a mail of its own
	}
	c, err := queries.MailCampaign(ctx, tx, db.MailCampaignParams{ID: *m.CampaignID, OrgID: m.OrgID})
	return &c, err
}

// write writes the result of a mail, also while the server stops: a mail has been
// sent, or not, whatever the server does now.
func (s Sender) write(ctx context.Context, work func(context.Context, *pgtx.Tx) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return insist(ctx, s.Pool, work)
}

const (
	// patience is how long a result is tried to be written: a mail whose result is
	// lost counts as failed.
	patience = 30 * time.Second
	// pause is the time between two tries.
	pause = 100 * time.Millisecond
)

// insist repeats work while it fails for reasons that may pass, until ctx ends. A
// commit whose answer was lost is repeated too, so work must be safe to do twice.
func insist(ctx context.Context, pool *pgxpool.Pool, work func(context.Context, *pgtx.Tx) error) error {
	for {
		err := pgtx.Within(ctx, pool, func(tx *pgtx.Tx) error { return work(ctx, tx) })
		if err == nil || !passing(err) {
			return err
		}
		if clock.Wait(ctx, pause) != nil {
			return err
		}
	}
}

// passing reports whether an error of the database may go away by itself: a lost
// race, a lock or a statement that took too long, a connection, a fail-over.
func passing(err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pgtx.Again(err) {
		return true
	}
	class := []string{"08", "53", "57"} // connection, resources, intervention of the operator
	return pg.Code == "55P03" || pg.Code == "25006" ||
		slices.ContainsFunc(class, func(c string) bool { return strings.HasPrefix(pg.Code, c) })
}
