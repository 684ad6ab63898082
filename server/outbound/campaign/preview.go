package campaign

import (
	"cmp"
	"context"

	"rail/gen/db"
	"rail/server/outbound/mail"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/work"
)

// Preview is a campaign as it would be sent now.
type Preview struct {
	db.Campaign
	HTML           string // the text alone
	Total, Skipped int64  // partners who match, and those among them without a mail
	Email          Email
}

// Email is the campaign's mail to one partner; PartnerID is "" if no partner matches.
type Email struct {
	PartnerID string
	mail.Filled
}

// Show returns a campaign as its recipients would see it, and counts them. The email is that of a partner, or of the
// first recipient for "".
func Show(ctx context.Context, u *work.Unit, by *mail.Outbox, id, partner string) (Preview, error) {
	c, err := get(ctx, u, u.Short(), id)
	if err != nil {
		return Preview{}, err
	}
	page, err := mail.HTML(c.Body)
	if err != nil {
		return Preview{}, err
	}
	p, err := preview(ctx, u, by, c, partner)
	p.HTML = page.String()
	return p, err
}

// Draft returns what Show returns for a text that is not saved.
func Draft(ctx context.Context, u *work.Unit, by *mail.Outbox, in Input, partner string) (Preview, error) {
	if err := checkText(&in.Subject, &in.Body); err != nil {
		return Preview{}, err
	}
	p, err := u.Program(ctx, in.ProgramID)
	if err != nil {
		return Preview{}, err
	}
	c := db.Campaign{OrgID: p.OrgID, ProgramID: p.ID, Subject: in.Subject, Body: in.Body}
	if err := address(ctx, u, &c, in.Audience); err != nil {
		return Preview{}, err
	}
	return preview(ctx, u, by, c, partner)
}

// preview counts the recipients of a campaign and returns the mail of one partner.
func preview(ctx context.Context, u *work.Unit, by *mail.Outbox, c db.Campaign, partner string) (p Preview, err error) {
	p.Campaign = c
	n, err := audience(ctx, u.DB(), c)
	if err != nil {
		return p, err
	}
	p.Total, p.Skipped = n.Total, n.Skipped
	if p.Email.PartnerID, err = reader(ctx, u, c, partner); err != nil {
		return p, err
	}
	p.Email.Filled, err = by.PreviewLayout().Fill(ctx, u.DB(), u.OrgID, p.Email.PartnerID, bulk(c))
	return p, err
}

// bulk returns the text of a campaign.
func bulk(c db.Campaign) mail.Bulk {
	return mail.Bulk{ProgramID: c.ProgramID, Subject: c.Subject, Markdown: c.Body}
}

// reader returns the partner whose mail is shown: one of the campaign's program, or the first of the audience for "".
func reader(ctx context.Context, u *work.Unit, c db.Campaign, partner string) (string, error) {
	if partner != "" {
		return partner, u.Check(ctx, c.ProgramID, work.PartnerRef("partner_id", &partner))
	}
	first, err := queries.CampaignFirst(ctx, u.DB(), db.CampaignFirstParams{
		OrgID: c.OrgID, ProgramID: c.ProgramID, Statuses: statuses(c), GroupIds: c.GroupIds, TagIds: c.TagIds,
		PartnerIds: c.PartnerIds,
	})
	return first, work.IgnoreNoRows(err)
}

// get reads a campaign, restricted to the unit's program if it has one.
func get(ctx context.Context, u *work.Unit, tx pgtx.DBTX, id string) (db.Campaign, error) {
	c, err := queries.CampaignGet(ctx, tx, db.CampaignGetParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return c, err
	}
	return c, u.CheckProgram(c.ProgramID)
}

// audience counts the partners in the campaign's audience now.
func audience(ctx context.Context, tx pgtx.DBTX, c db.Campaign) (db.CampaignAudienceRow, error) {
	return queries.CampaignAudience(ctx, tx, db.CampaignAudienceParams{
		CampaignID: c.ID, OrgID: c.OrgID, ProgramID: c.ProgramID, Statuses: statuses(c), GroupIds: c.GroupIds,
		TagIds: c.TagIds, PartnerIds: c.PartnerIds, Lim: maxCounted,
	})
}

// Test sends the campaign's mail to the caller, and returns the address (decisions, 262). It has the values of a
// partner, or of the first recipient for "".
func Test(ctx context.Context, u *work.Unit, by *mail.Outbox, id, partner string) (string, error) {
	c, err := get(ctx, u, u.Tx, id)
	if err != nil {
		return "", err
	}
	if !by.Ready() {
		return "", mail.Unconfigured()
	}
	if partner, err = reader(ctx, u, c, partner); err != nil {
		return "", err
	}
	var values mail.Values
	if partner != "" {
		if values, err = by.PreviewLayout().ValuesOf(ctx, u.Tx, u.OrgID, partner); err != nil {
			return "", err
		}
	}
	to, err := asker(ctx, u)
	if err != nil {
		return "", err
	}
	return to, by.Queue(ctx, u.Later(), u.OrgID, mail.Test(to, c.ID+" "+u.Now.String(), bulk(c), values), u.Now)
}

// asker returns the caller's address, or that of the organization's owner for an API key.
func asker(ctx context.Context, u *work.Unit) (string, error) {
	if u.Actor.Kind != work.Person {
		owners, err := queries.OwnerAddresses(ctx, u.Tx, u.OrgID)
		if err == nil && len(owners) == 0 {
			err = problem.New(problem.CampaignNotSendable, "The organization has no owner's address to send a test to.")
		}
		return cmp.Or(append(owners, "")...), err
	}
	person, err := queries.UserGet(ctx, u.Tx, db.UserGetParams{OrgID: u.OrgID, ID: u.Actor.ID})
	return person.Email, err
}
