// Package campaign sends one mail to many partners. Starting a campaign counts
// who gets it, and writes them down: the first batch at once, a job the others. It
// then moves them into the outbox a few at a time, so that a pause takes effect at
// once, no body is stored a thousand times, and no statement grows with the
// program.
package campaign

import (
	"context"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/postgres/pgtx"
)

var queries = db.New()

// counted is how many are counted at once; the job that writes the audience down
// sets the exact numbers of a larger one.
const counted = 200_000

// Start starts a locked draft, scheduled or paused campaign: it counts the audience
// and begins to write it down. Whoever has got the mail stays counted and gets it
// no second time. Where nobody matches Total is 0, and nothing is saved.
func Start(ctx context.Context, tx *pgtx.Tx, c db.Campaign, now clock.Time) (db.Campaign, error) {
	n, err := queries.CampaignAudience(ctx, tx, db.CampaignAudienceParams{
		CampaignID: c.ID, OrgID: c.OrgID, ProgramID: c.ProgramID, Statuses: statuses(c), GroupIds: c.GroupIds,
		TagIds: c.TagIds, Lim: counted,
	})
	if c.Total, c.Skipped = n.Total, n.Skipped; err != nil || c.Total == 0 {
		return c, err
	}
	if c.StartedAt == nil {
		c.StartedAt = &now
	}
	c.Status, c.UpdatedAt, c.AudienceAfter = db.CampaignStatusSending, now, new(string) // from the first on
	if err := Save(ctx, tx.Later(), c); err != nil {
		return c, err
	}
	_, err = fillSome(ctx, tx, c)
	return c, err
}

// statuses are those of the audience.
func statuses(c db.Campaign) []string {
	if len(c.Statuses) == 0 {
		return []string{string(db.PartnerStatusActive)}
	}
	return c.Statuses
}

// Pause holds a locked campaign, and takes back from the outbox what is not being
// sent. The campaign is not yet saved.
func Pause(ctx context.Context, tx pgtx.DBTX, c db.Campaign, now clock.Time) (db.Campaign, error) {
	c.Status, c.UpdatedAt = db.CampaignStatusPaused, now
	return c, queries.CampaignRecall(ctx, tx, db.CampaignRecallParams{CampaignID: c.ID, OrgID: c.OrgID})
}

// Save writes a campaign.
func Save(ctx context.Context, tx pgtx.DBTX, c db.Campaign) error {
	return queries.CampaignUpdate(ctx, tx, db.CampaignUpdateParams{
		Name: c.Name, Subject: c.Subject, Body: c.Body, GroupIds: c.GroupIds, TagIds: c.TagIds, Statuses: c.Statuses,
		Status: c.Status, ScheduledAt: c.ScheduledAt, StartedAt: c.StartedAt, Total: c.Total, Skipped: c.Skipped,
		AudienceAfter: c.AudienceAfter, UpdatedAt: c.UpdatedAt,
		ID: c.ID, OrgID: c.OrgID,
	})
}
