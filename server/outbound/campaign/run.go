package campaign

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/postgres/pgtx"
)

const (
	// window bounds the mails of one campaign in the outbox that have not been tried yet.
	window = 500
	// maxQueued bounds them together with mails that wait for another attempt.
	maxQueued = 20_000
)

// Run starts campaigns that are due, stores audiences, moves recipients into the outbox and finishes campaigns
// whose last mail is sent. Replicas may run it concurrently. A failing campaign delays no other.
func Run(ctx context.Context, pool *pgxpool.Pool, now clock.Time) error {
	scheduled, failed := queries.CampaignsScheduled(ctx, pool, &now)
	for _, c := range scheduled {
		failed = errors.Join(failed,
			withID(c.ID,
				within(ctx, pool, c.ID, c.OrgID, db.CampaignStatusScheduled,
					func(tx *pgtx.Tx, c db.Campaign) error { return begin(ctx, tx, c, now) })))
	}
	sending, err := queries.CampaignsSending(ctx, pool)
	failed = errors.Join(failed, err)
	for _, c := range sending {
		failed = errors.Join(failed, withID(c.ID, move(ctx, pool, c.ID, c.OrgID, now)))
	}
	return failed
}

// withID adds the campaign's id to an error, since a run joins the errors of many.
func withID(id string, err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %w", id, err)
	}
	return err
}

// move advances a campaign by a step: it stores the audience, fills the outbox, and finishes the campaign after
// its last mail.
func move(ctx context.Context, pool *pgxpool.Pool, id, org string, now clock.Time) error {
	if err := fill(ctx, pool, id, org); err != nil {
		return err
	}
	if err := within(ctx, pool, id, org, db.CampaignStatusSending,
		func(tx *pgtx.Tx, c db.Campaign) error { return feed(ctx, tx, c, now) }); err != nil {
		return err
	}
	_, err := queries.CampaignFinish(ctx, pool, db.CampaignFinishParams{Now: &now, ID: id, OrgID: org})
	return err
}

// within runs work in a transaction with the campaign locked, if it is still in the state and not locked by
// another replica. Otherwise it does nothing.
func within(
	ctx context.Context, pool *pgxpool.Pool, id, org string, status db.CampaignStatus,
	work func(*pgtx.Tx, db.Campaign) error,
) error {
	return pgtx.WithinUnhurried(ctx, pool, func(tx *pgtx.Tx) error {
		c, err := queries.CampaignTake(ctx, tx, db.CampaignTakeParams{ID: id, OrgID: org, Status: status})
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		return work(tx, c)
	})
}

// begin starts a scheduled campaign. If no partner matches, the campaign is paused for its owner to see, since
// there is no request to refuse.
func begin(ctx context.Context, tx *pgtx.Tx, c db.Campaign, now clock.Time) error {
	c, err := start(ctx, tx, c, now)
	if err != nil || c.Total > 0 {
		return err
	}
	if c.StartedAt == nil {
		c.StartedAt = &now
	}
	c.Status, c.UpdatedAt = db.CampaignStatusPaused, now
	return save(ctx, tx, c)
}

// feed writes mails into the outbox up to the campaign's window, once the whole audience is stored. It marks and
// skips recipients without an email.
func feed(ctx context.Context, tx *pgtx.Tx, c db.Campaign, now clock.Time) error {
	if c.AudienceAfter != nil {
		return nil
	}
	counts, err := queries.CampaignOutboxCounts(ctx, tx, db.CampaignOutboxCountsParams{CampaignID: c.ID, OrgID: c.OrgID})
	room := min(window-counts.Fresh, maxQueued-counts.Held)
	if err != nil || room <= 0 {
		return err
	}
	next, err := queries.CampaignNext(ctx, tx, db.CampaignNextParams{
		CampaignID: c.ID, OrgID: c.OrgID, Lim: int32(room),
	})
	if err != nil || len(next) == 0 {
		return err
	}
	batch, mails := make([]string, len(next)), db.CampaignMailParams{Now: &now, CampaignID: c.ID, OrgID: c.OrgID}
	for i, r := range next {
		if batch[i] = r.PartnerID; r.Email != nil {
			mails.Ids = append(mails.Ids, ident.New(ident.Mail))
			mails.PartnerIds, mails.Recipients = append(mails.PartnerIds, r.PartnerID), append(mails.Recipients, *r.Email)
		}
	}
	mailed, err := queries.CampaignMail(ctx, tx, mails)
	if err != nil {
		return err
	}
	return queries.CampaignRecipientsMark(ctx, tx, db.CampaignRecipientsMarkParams{
		Mailed: mailed, CampaignID: c.ID, OrgID: c.OrgID, Batch: batch,
	})
}
