package campaign

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/pgtx"
)

// window is how many mails of one campaign lie in the outbox at most.
const window = 500

// Run starts the campaigns whose time has come, moves recipients into the outbox
// and ends campaigns whose last mail is out. Any number of replicas may run it.
func Run(ctx context.Context, pool *pgxpool.Pool, now clock.Time) error {
	scheduled, err := queries.CampaignsScheduled(ctx, pool, &now)
	if err != nil {
		return err
	}
	for _, c := range scheduled {
		if err := within(ctx, pool, c.ID, c.OrgID, "scheduled", func(tx *pgtx.Tx, c db.Campaign) error { return begin(ctx, tx, c, now) }); err != nil {
			return err
		}
	}
	sending, err := queries.CampaignsSending(ctx, pool)
	if err != nil {
		return err
	}
	for _, c := range sending {
		if err := within(ctx, pool, c.ID, c.OrgID, "sending", func(tx *pgtx.Tx, c db.Campaign) error { return feed(ctx, tx, c, now) }); err != nil {
			return err
		}
		if _, err := queries.CampaignFinish(ctx, pool, db.CampaignFinishParams{Now: &now, ID: c.ID, OrgID: c.OrgID}); err != nil {
			return err
		}
	}
	return nil
}

// within works on a campaign that is still in the state and free.
func within(ctx context.Context, pool *pgxpool.Pool, id, org, status string, work func(*pgtx.Tx, db.Campaign) error) error {
	return pgtx.Within(ctx, pool, func(tx *pgtx.Tx) error {
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

// begin starts a scheduled campaign. One that matches nobody is paused, for its
// owner to look at: there is no request that could be refused.
func begin(ctx context.Context, tx *pgtx.Tx, c db.Campaign, now clock.Time) error {
	c, err := Start(ctx, tx, c, now)
	if err != nil {
		return err
	}
	if c.Total == 0 {
		c.Status = "paused"
	}
	return Save(ctx, tx, c)
}

// feed fills the campaign's window of the outbox.
func feed(ctx context.Context, tx *pgtx.Tx, c db.Campaign, now clock.Time) error {
	there, err := queries.CampaignMailed(ctx, tx, db.CampaignMailedParams{CampaignID: c.ID, OrgID: c.OrgID})
	if err != nil || there >= window {
		return err
	}
	next, err := queries.CampaignNext(ctx, tx, db.CampaignNextParams{CampaignID: c.ID, OrgID: c.OrgID, Lim: int32(window - there)}) //nolint:gosec // at most window
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
	return queries.CampaignRecipientsMark(ctx, tx, db.CampaignRecipientsMarkParams{Mailed: mailed, CampaignID: c.ID, OrgID: c.OrgID, Batch: batch})
}
