package mail

import (
	"context"

	"rail/gen/db"
	"rail/server/problem"
	"rail/server/work"
)

// Unconfigured is the refusal of a server without mail.
func Unconfigured() error {
	return problem.New(problem.EmailNotConfigured, "This server sends no mail: RAIL_SMTP_URL is not set.")
}

// Retryable reports whether a mail can be sent again: a failed one, unless it belongs to a campaign, whose text
// is not stored with it.
func Retryable(m db.MailPageRow) bool { return m.Status == db.MailStatusFailed && m.CampaignID == nil }

// ByID returns a mail, restricted to the unit's programs if it has any (decisions, 360).
func ByID(ctx context.Context, u *work.Unit, id string) (db.MailPageRow, error) {
	row, err := queries.MailGet(ctx, u.DB(), db.MailGetParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return db.MailPageRow{}, err
	}
	return db.MailPageRow(row), ofProgram(ctx, u, row.ProgramID)
}

// Retry queues a failed mail again (decisions, 264).
func (o *Outbox) Retry(ctx context.Context, u *work.Unit, id string) (db.MailPageRow, error) {
	row, err := queries.MailLockFailed(ctx, u.Tx, db.MailLockFailedParams{ID: id, OrgID: u.OrgID})
	m := db.MailPageRow(row)
	if err != nil {
		return m, err
	}
	if err := ofProgram(ctx, u, m.ProgramID); err != nil {
		return m, err
	}
	switch {
	case !o.Ready():
		return m, Unconfigured()
	case m.CampaignID != nil:
		return m, problem.New(problem.MailNotRetryable, "The mail belongs to a campaign, whose text may have changed since.")
	case !Retryable(m):
		return m, problem.New(problem.MailNotRetryable, "The mail is %s; only a failed mail can be sent again.", m.Status)
	}
	m.Status, m.Attempts, m.Error = db.MailStatusQueued, 0, nil
	return m, queries.MailRetry(ctx, u.Later(), db.MailRetryParams{Now: &u.Now, ID: m.ID, OrgID: u.OrgID})
}

// ofProgram refuses a mail of another program than the request names. A mail without a program belongs to all of
// the organization's.
func ofProgram(ctx context.Context, u *work.Unit, programID string) error {
	if programID != "" {
		return u.CheckProgram(programID)
	}
	for _, named := range u.Programs {
		if err := u.ProgramExists(ctx, u.DB(), named); err != nil {
			return err
		}
	}
	return nil
}
