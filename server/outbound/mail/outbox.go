// Package mail writes mails into the outbox, in the transaction of the change that they announce, and sends them
// from there: each at most once per recipient and purpose, across replicas and crashes.
package mail

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
)

var queries = db.New()

// Message is one mail. A second mail to the same recipient with the same Purpose and Key is not sent. Markdown
// becomes the HTML; Plain is the same in plain text, and is made of Markdown if it is empty.
type Message struct {
	Purpose, Key    string
	To              string
	Subject         string
	Markdown, Plain string
	// Foot is Markdown below the text: the reason for the mail. Language is that of the texts.
	Foot, Language string
	// Values are those of the text's placeholders; nil leaves them as they are.
	Values Values
	// ProgramID is the program whose name and look the mail has; nil for Rail's own mails.
	ProgramID *string
	// Hold delays the mail. Recall can drop it until then.
	Hold time.Duration
}

// Outbox queues mails. Without a mail server it only logs them (decisions, 179). A nil Outbox drops them.
type Outbox struct {
	Configured bool
	Log        *slog.Logger
	// Layout is that of the sender, for previews.
	Layout Layout
}

// Ready reports whether mails can be sent.
func (o *Outbox) Ready() bool { return o != nil && o.Configured }

// PreviewLayout returns the layout of mails; that of a nil Outbox has no addresses.
func (o *Outbox) PreviewLayout() Layout {
	if o == nil {
		return Layout{}
	}
	return o.Layout
}

// Queue writes a mail in the transaction of the change that it announces.
func (o *Outbox) Queue(ctx context.Context, tx pgtx.DBTX, org string, m Message, now clock.Time) error {
	if !o.Ready() {
		if o != nil && o.Log != nil {
			o.Log.Info("mail skipped: RAIL_SMTP_URL is not set", "purpose", m.Purpose, "key", m.Key)
		}
		return nil
	}
	at := now.Plus(m.Hold)
	var values []byte
	if m.Values != nil {
		var err error
		if values, err = json.Marshal(m.Values); err != nil {
			return err
		}
	}
	return queries.MailInsert(ctx, tx, db.MailInsertParams{
		ID: ident.New(ident.Mail), OrgID: org, Purpose: m.Purpose, Key: m.Key, Recipient: m.To, Subject: m.Subject,
		Body: m.Markdown, Plain: opt.OrNil(m.Plain), Foot: opt.OrNil(m.Foot), Language: opt.OrNil(m.Language),
		Placeholders: values, ProgramID: m.ProgramID, CreatedAt: now, NextAttemptAt: &at,
	})
}

// QueueForOwners writes a mail for each owner of the organization.
func (o *Outbox) QueueForOwners(ctx context.Context, tx pgtx.DBTX, org string, now clock.Time,
	message func(to string) Message) error {
	owners, err := queries.OwnerAddresses(ctx, tx, org)
	if err != nil {
		return err
	}
	for _, to := range owners {
		if err := o.Queue(ctx, tx, org, message(to), now); err != nil {
			return err
		}
	}
	return nil
}

// Recall drops a queued mail that is not sent yet.
func (o *Outbox) Recall(ctx context.Context, tx pgtx.DBTX, org, purpose, key string) error {
	return queries.MailRecall(ctx, tx, db.MailRecallParams{OrgID: org, Purpose: purpose, Key: key})
}
