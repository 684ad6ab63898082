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
	// window is how many mails of one campaign lie in the outbox and have not been
	// tried yet.
	window = 500
	// most bounds them together with those that wait for another attempt.
	most = 20_000
)

// Run starts the campaigns whose time has come, writes audiences down, moves
// recipients into the outbox and ends campaigns whose last mail is out. Any number
// of replicas may run it. A campaign that fails delays no other.
func Run(ctx context.Context, pool *pgxpool.Pool, now clock.Time) error {
	scheduled, failed := queries.CampaignsScheduled(ctx, pool, &now)
	for _, c := range scheduled {
		failed = errors.Join(failed,
			named(c.ID,
				within(ctx, pool, c.ID, c.OrgID, db.CampaignStatusScheduled,
					func(tx *pgtx.Tx, c db.Campaign) error { return begin(ctx, tx, c, now) })))
	}
	sending, err := queries.CampaignsSending(ctx, pool)
	failed = errors.Join(failed, err)
	for _, c := range sending {
		failed = errors.Join(failed, named(c.ID, move(ctx, pool, c.ID, c.OrgID, now)))
	}
	return failed
}

// named adds the campaign's id to an error, since a run joins those of many.
func named(id string, err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %w", id, err)
	}
	return err
}

// move takes a campaign a step further: it writes the audience down, fills the
// outbox, and ends the campaign after its last mail.
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

// within runs work in a transaction on the campaign, locked, if it is still in the
// state and no other replica has it. Else it does nothing.
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

// begin starts a scheduled campaign. If nobody matches, the campaign is paused for
// its owner to look at, as there is no request that could be refused.
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

// feed writes mails into the outbox up to the campaign's window, once the whole
// audience is written down. A recipient without an email is marked and skipped.
func feed(ctx context.Context, tx *pgtx.Tx, c db.Campaign, now clock.Time) error {
	if c.AudienceAfter != nil {
		return nil
	}
	there, err := queries.CampaignMailed(ctx, tx, db.CampaignMailedParams{CampaignID: c.ID, OrgID: c.OrgID})
	room := min(window-there.Fresh, most-there.Held)
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
