package campaign

import (
	"context"
	"fmt"

	"github.com/oapi-codegen/nullable"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/opt"
	"rail/server/outbound/mail"
	"rail/server/problem"
	"rail/server/work"
)

// Audience selects the recipients of a campaign: partners in any of the groups, with any of the tags, in any of
// the states, and among those listed. An empty list does not restrict, except Statuses, which defaults to active
// partners.
type Audience struct {
	GroupIDs, TagIDs, Statuses, PartnerIDs []string
}

// Input is a campaign to create.
type Input struct {
	ProgramID, Name, Subject, Body string
	Audience                       Audience
	ScheduledAt                    *clock.Time
}

// Changes are changes to a campaign; nil and unspecified members stay.
type Changes struct {
	Name, Subject, Body *string
	Audience            *Audience
	ScheduledAt         nullable.Nullable[clock.Time]
}

// Create creates a draft or scheduled campaign.
func Create(ctx context.Context, u *work.Unit, in Input) (db.Campaign, error) {
	if err := checkText(&in.Subject, &in.Body); err != nil {
		return db.Campaign{}, err
	}
	p, err := u.Program(ctx, in.ProgramID)
	if err != nil {
		return db.Campaign{}, err
	}
	c := db.Campaign{
		ID: u.NewID(ident.Campaign), OrgID: p.OrgID, ProgramID: p.ID, Name: in.Name, Subject: in.Subject, Body: in.Body,
		Status: db.CampaignStatusDraft, CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	if err := address(ctx, u, &c, in.Audience); err != nil {
		return c, err
	}
	if err := schedule(&c, in.ScheduledAt, u.Now); err != nil {
		return c, err
	}
	return c, queries.CampaignInsert(ctx, u.Later(), db.CampaignInsertParams(c))
}

// checkText refuses unknown placeholders in the parts of a text that are given.
func checkText(subject, body *string) error {
	if err := mail.CheckPlaceholders("subject", opt.Value(subject)); err != nil {
		return err
	}
	return mail.CheckPlaceholders("body", opt.Value(body))
}

// address sets the campaign's audience. Refusals name the members below audience.
func address(ctx context.Context, u *work.Unit, c *db.Campaign, a Audience) error {
	c.GroupIds, c.TagIds, c.Statuses = opt.Distinct(a.GroupIDs), opt.Distinct(a.TagIDs), opt.Distinct(a.Statuses)
	c.PartnerIds = opt.Distinct(a.PartnerIDs)
	if err := u.Check(ctx, c.ProgramID, work.AudienceRefs("audience.", a.GroupIDs, a.TagIDs)...); err != nil {
		return err
	}
	return checkPartners(ctx, u, c.ProgramID, a.PartnerIDs)
}

// checkPartners refuses the first listed partner of another program. There may be a thousand: one statement
// reads them all.
func checkPartners(ctx context.Context, u *work.Unit, programID string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	rows, err := queries.PartnerPrograms(ctx, u.DB(), db.PartnerProgramsParams{Ids: ids, OrgID: u.OrgID})
	if err != nil {
		return err
	}
	programs := make(map[string]string, len(rows))
	for _, r := range rows {
		programs[r.ID] = r.ProgramID
	}
	for i, id := range ids {
		param := fmt.Sprintf("audience.partner_ids[%d]", i)
		program, found := programs[id]
		if !found {
			return problem.NotFound(param)
		}
		if err := work.SameProgram(program, programID, param); err != nil {
			return err
		}
	}
	return nil
}

// schedule sets the time of sending. Without a time a scheduled campaign becomes a draft again, or paused if
// some of its mails were sent.
func schedule(c *db.Campaign, at *clock.Time, now clock.Time) error {
	c.ScheduledAt = at
	switch {
	case at != nil && !at.After(now.Time):
		return problem.Invalid("scheduled_at", "scheduled_at must be in the future; to send the campaign now, use its send operation.")
	case at != nil:
		c.Status = db.CampaignStatusScheduled
	case c.Status == db.CampaignStatusScheduled && c.StartedAt == nil:
		c.Status = db.CampaignStatusDraft
	case c.Status == db.CampaignStatusScheduled:
		c.Status = db.CampaignStatusPaused
	}
	return nil
}

// Update changes the mails that are not sent yet.
func Update(ctx context.Context, u *work.Unit, id string, to Changes) (db.Campaign, error) {
	if err := checkText(to.Subject, to.Body); err != nil {
		return db.Campaign{}, err
	}
	c, err := editable(ctx, u, id)
	if err != nil {
		return c, err
	}
	opt.Change(&c.Name, to.Name)
	opt.Change(&c.Subject, to.Subject)
	opt.Change(&c.Body, to.Body)
	if to.Audience != nil {
		if err := address(ctx, u, &c, *to.Audience); err != nil {
			return c, err
		}
	}
	if to.ScheduledAt.IsSpecified() {
		var at *clock.Time
		opt.ChangeOrClear(&at, to.ScheduledAt)
		if err := schedule(&c, at, u.Now); err != nil {
			return c, err
		}
	}
	c.UpdatedAt = u.Now
	return c, save(ctx, u.Later(), c)
}

// Delete deletes a campaign that is neither sending nor done.
func Delete(ctx context.Context, u *work.Unit, id string) error {
	c, err := editable(ctx, u, id)
	if err != nil {
		return err
	}
	return queries.CampaignDelete(ctx, u.Later(), db.CampaignDeleteParams{ID: c.ID, OrgID: c.OrgID})
}

// Send starts a draft, or continues a paused campaign. It checks the mail configuration before the state, since
// the operator must act first in any case.
func Send(ctx context.Context, u *work.Unit, by *mail.Outbox, id string) (db.Campaign, error) {
	c, err := lock(ctx, u, id)
	if err != nil {
		return c, err
	}
	if !by.Ready() {
		return c, mail.Unconfigured()
	}
	if c.Status != db.CampaignStatusDraft && c.Status != db.CampaignStatusPaused {
		return c, problem.New(problem.CampaignNotSendable,
			"The campaign is %s; only a draft or a paused campaign can be sent.", c.Status)
	}
	return sendNow(ctx, u, c)
}

// sendNow starts a campaign, and refuses an empty audience.
func sendNow(ctx context.Context, u *work.Unit, c db.Campaign) (db.Campaign, error) {
	c, err := start(ctx, u.Tx, c, u.Now)
	if err == nil && c.Total == 0 {
		err = problem.New(problem.CampaignAudienceEmpty, "No partner matches the campaign's audience.")
	}
	return c, err
}

// Resume continues a paused campaign: it waits again for a future time, and is otherwise sent now (decisions,
// 361).
func Resume(ctx context.Context, u *work.Unit, by *mail.Outbox, id string) (db.Campaign, error) {
	c, err := lock(ctx, u, id)
	switch {
	case err != nil:
		return c, err
	case c.Status != db.CampaignStatusPaused:
		return c, problem.New(problem.CampaignNotResumable,
			"The campaign is %s; only a paused campaign can be resumed.", c.Status)
	case c.ScheduledAt != nil && c.ScheduledAt.After(u.Now.Time):
		c.Status, c.UpdatedAt = db.CampaignStatusScheduled, u.Now
		return c, save(ctx, u.Later(), c)
	case !by.Ready():
		return c, mail.Unconfigured()
	}
	return sendNow(ctx, u, c)
}

// Pause stops a campaign. Sent mails stay sent; waiting ones are removed from the outbox.
func Pause(ctx context.Context, u *work.Unit, id string) (db.Campaign, error) {
	c, err := lock(ctx, u, id)
	if err != nil {
		return c, err
	}
	if c.Status != db.CampaignStatusSending && c.Status != db.CampaignStatusScheduled {
		return c, problem.New(problem.CampaignNotPausable,
			"The campaign is %s; only a scheduled or sending campaign can be paused.", c.Status)
	}
	c.Status, c.UpdatedAt = db.CampaignStatusPaused, u.Now
	recall := db.CampaignRecallParams{CampaignID: c.ID, OrgID: c.OrgID}
	if err := queries.CampaignRecall(ctx, u.Later(), recall); err != nil {
		return c, err
	}
	return c, save(ctx, u.Later(), c)
}

// lock locks a campaign, restricted to the unit's program if it has one (decisions, 155).
func lock(ctx context.Context, u *work.Unit, id string) (db.Campaign, error) {
	c, err := queries.CampaignLock(ctx, u.Tx, db.CampaignLockParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return c, err
	}
	return c, u.CheckProgram(c.ProgramID)
}

// editable locks a campaign unless it is sending or sent.
func editable(ctx context.Context, u *work.Unit, id string) (db.Campaign, error) {
	c, err := lock(ctx, u, id)
	if err != nil {
		return c, err
	}
	switch c.Status {
	case db.CampaignStatusDraft, db.CampaignStatusScheduled, db.CampaignStatusPaused:
		return c, nil
	default:
		return c, problem.New(problem.CampaignNotEditable,
			"The campaign is %s; only a draft, a scheduled or a paused campaign can be changed or deleted.", c.Status)
	}
}
