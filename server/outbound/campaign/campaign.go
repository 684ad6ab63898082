// Package campaign sends one mail to many partners. Starting a campaign counts the audience and stores its first
// batch of recipients; a job stores the others, and then moves recipients into the outbox a few at a time. So a
// pause takes effect at once, no body is stored a thousand times, and no statement grows with the program.
package campaign

import (
	"context"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/postgres/pgtx"
)

var queries = db.New()

// maxCounted bounds the partners counted when a campaign starts. For a larger audience, the job that stores the
// recipients sets the exact numbers.
const maxCounted = 200_000

// start starts a locked draft, scheduled or paused campaign: it counts the audience and begins to store it. A
// partner who got the mail stays counted and gets no second one. If no partner matches, Total is 0 and nothing
// is saved.
func start(ctx context.Context, tx *pgtx.Tx, c db.Campaign, now clock.Time) (db.Campaign, error) {
	n, err := audience(ctx, tx, c)
	if c.Total, c.Skipped = n.Total, n.Skipped; err != nil || c.Total == 0 {
		return c, err
	}
	if c.StartedAt == nil {
		c.StartedAt = &now
	}
	c.Status, c.UpdatedAt, c.AudienceAfter = db.CampaignStatusSending, now, new(string) // from the first partner on
	if err := save(ctx, tx.Later(), c); err != nil {
		return c, err
	}
	_, err = fillSome(ctx, tx, c)
	return c, err
}

// statuses returns the partner states of the audience: active unless the campaign has others.
func statuses(c db.Campaign) []string {
	if len(c.Statuses) == 0 {
		return []string{string(db.PartnerStatusActive)}
	}
	return c.Statuses
}

// save writes a campaign.
func save(ctx context.Context, tx pgtx.DBTX, c db.Campaign) error {
	return queries.CampaignUpdate(ctx, tx, db.CampaignUpdateParams{
		Name: c.Name, Subject: c.Subject, Body: c.Body, GroupIds: c.GroupIds, TagIds: c.TagIds, Statuses: c.Statuses,
		PartnerIds: c.PartnerIds, Status: c.Status, ScheduledAt: c.ScheduledAt, StartedAt: c.StartedAt,
		Total: c.Total, Skipped: c.Skipped,
		AudienceAfter: c.AudienceAfter, UpdatedAt: c.UpdatedAt,
		ID: c.ID, OrgID: c.OrgID,
	})
}
