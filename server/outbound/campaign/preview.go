package campaign

import (
	"context"

	"rail/gen/db"
	"rail/server/opt"
	"rail/server/outbound/mail"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/work"
)

// Preview is a campaign as it would be sent now.
type Preview struct {
	db.Campaign
	HTML           string
	Total, Skipped int64 // partners who match, and those among them without a mail
}

// Show returns a campaign as its recipients would see it, and counts them.
func Show(ctx context.Context, u *work.Unit, id string) (Preview, error) {
	c, err := queries.CampaignGet(ctx, u.Short(), db.CampaignGetParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return Preview{}, err
	}
	if err := u.CheckProgram(c.ProgramID); err != nil {
		return Preview{}, err
	}
	n, err := audience(ctx, u.DB(), c)
	if err != nil {
		return Preview{}, err
	}
	page, err := mail.HTML(c.Body)
	return Preview{c, page.String(), n.Total, n.Skipped}, err
}

// audience counts the partners in the campaign's audience now.
func audience(ctx context.Context, tx pgtx.DBTX, c db.Campaign) (db.CampaignAudienceRow, error) {
	return queries.CampaignAudience(ctx, tx, db.CampaignAudienceParams{
		CampaignID: c.ID, OrgID: c.OrgID, ProgramID: c.ProgramID, Statuses: statuses(c), GroupIds: c.GroupIds,
		TagIds: c.TagIds, PartnerIds: c.PartnerIds, Lim: maxCounted,
	})
}

// Test sends the campaign's mail to the caller, and returns the address (decisions, 262).
func Test(ctx context.Context, u *work.Unit, by *mail.Outbox, id string) (string, error) {
	c, err := queries.CampaignGet(ctx, u.Tx, db.CampaignGetParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return "", err
	}
	if err := u.CheckProgram(c.ProgramID); err != nil {
		return "", err
	}
	if !by.Ready() {
		return "", mail.Unconfigured()
	}
	to, err := asker(ctx, u)
	if err != nil {
		return "", err
	}
	return to, by.Queue(ctx, u.Later(), u.OrgID, mail.Test(to, c.ID+" "+u.Now.String(), c.Subject, c.Body), u.Now)
}

// asker returns the caller's address, or that of the organization's owner for an API key.
func asker(ctx context.Context, u *work.Unit) (string, error) {
	if u.Actor.Kind != work.Person {
		owner, err := queries.OrganizationOwner(ctx, u.Tx, u.OrgID)
		if err == nil && owner == nil {
			err = problem.New(problem.CampaignNotSendable, "The organization has no owner's address to send a test to.")
		}
		return opt.Value(owner), err
	}
	person, err := queries.UserGet(ctx, u.Tx, db.UserGetParams{OrgID: u.OrgID, ID: u.Actor.ID})
	return person.Email, err
}
