// Package campaign sends one mail to many partners. Starting a campaign writes
// down who gets it; a job then moves them into the outbox a few at a time, so
// that a pause takes hold at once and no body is stored a thousand times.
package campaign

import (
	"context"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/pgtx"
)

var queries = db.New()

// Start reads the audience of a locked draft, scheduled or paused campaign and
// returns the campaign as `sending`, not yet saved. Whoever has got the mail
// stays counted and gets it no second time. Total is 0 where nobody matches.
func Start(ctx context.Context, tx pgtx.DBTX, c db.Campaign, now clock.Time) (db.Campaign, error) {
	if err := queries.CampaignRecipientsForget(ctx, tx, db.CampaignRecipientsForgetParams{CampaignID: c.ID, OrgID: c.OrgID}); err != nil {
		return c, err
	}
	if err := queries.CampaignRecipientsAdd(ctx, tx, db.CampaignRecipientsAddParams{ID: c.ID, OrgID: c.OrgID}); err != nil {
		return c, err
	}
	n, err := queries.CampaignTally(ctx, tx, db.CampaignTallyParams{CampaignID: c.ID, OrgID: c.OrgID})
	if err != nil {
		return c, err
	}
	c.Total, c.Skipped = n.Total, n.Skipped
	if c.StartedAt == nil {
		c.StartedAt = &now
	}
	c.Status, c.UpdatedAt = "sending", now
	return c, nil
}

// Pause holds a locked campaign, and takes back from the outbox what is not being
// sent. The campaign is not yet saved.
func Pause(ctx context.Context, tx pgtx.DBTX, c db.Campaign, now clock.Time) (db.Campaign, error) {
	c.Status, c.UpdatedAt = "paused", now
	return c, queries.CampaignRecall(ctx, tx, db.CampaignRecallParams{CampaignID: c.ID, OrgID: c.OrgID})
}

// Save writes a campaign.
func Save(ctx context.Context, tx pgtx.DBTX, c db.Campaign) error {
	return queries.CampaignUpdate(ctx, tx, db.CampaignUpdateParams{
		Name: c.Name, Subject: c.Subject, Body: c.Body, GroupIds: c.GroupIds, TagIds: c.TagIds, Statuses: c.Statuses, Status: c.Status,
		ScheduledAt: c.ScheduledAt, StartedAt: c.StartedAt, Total: c.Total, Skipped: c.Skipped, UpdatedAt: c.UpdatedAt, ID: c.ID, OrgID: c.OrgID,
	})
}
