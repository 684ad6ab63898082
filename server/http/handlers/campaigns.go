package handlers

import (
	"context"
	"slices"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/outbound/campaign"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/work"
)

// ListCampaigns lists the campaigns of a program, newest first.
func (s *Server) ListCampaigns(ctx context.Context, r api.ListCampaignsRequestObject) (api.ListCampaignsResponseObject, error) {
	c, p := work.From(ctx), r.Params
	org := c.Key.OrgID
	rows, err := list(ctx, c, paging{programID: p.ProgramID, limit: p.Limit, startingAfter: p.StartingAfter, endingBefore: p.EndingBefore}, lister[position, db.Campaign]{
		cursor: func(ctx context.Context, tx pgtx.DBTX, id string) (position, error) {
			row, err := queries.CampaignCursor(ctx, tx, db.CampaignCursorParams{ID: id, ProgramID: p.ProgramID, OrgID: org})
			return position{row.CreatedAt, row.ID}, err
		},
		page: byTime(func(ctx context.Context, tx pgtx.DBTX, b bounds) ([]db.Campaign, error) {
			return queries.CampaignPage(ctx, tx, db.CampaignPageParams{
				ProgramID: p.ProgramID, OrgID: org, AfterAt: b.afterAt, AfterID: b.afterID, BeforeAt: b.beforeAt, BeforeID: b.beforeID, Lim: b.lim,
			})
		}),
		count: func(ctx context.Context, tx pgtx.DBTX) (int64, error) {
			return queries.CampaignCount(ctx, tx, db.CampaignCountParams{ProgramID: p.ProgramID, OrgID: org})
		},
	})
	return api.ListCampaigns200JSONResponse{Data: mapped(rows.rows, toCampaign), HasMore: rows.hasMore, TotalCount: rows.total}, err
}

// RetrieveCampaign returns one campaign.
func (s *Server) RetrieveCampaign(ctx context.Context, r api.RetrieveCampaignRequestObject) (api.RetrieveCampaignResponseObject, error) {
	c := work.From(ctx)
	row, err := queries.CampaignGet(ctx, c.DB(), db.CampaignGetParams{ID: r.ID, OrgID: c.Key.OrgID})
	if err != nil {
		return nil, err
	}
	return api.RetrieveCampaign200JSONResponse(toCampaign(row)), fits(c, row.ProgramID)
}

// CreateCampaign prepares a campaign.
func (s *Server) CreateCampaign(ctx context.Context, r api.CreateCampaignRequestObject) (api.CreateCampaignResponseObject, error) {
	c, b := work.From(ctx), r.Body
	p, err := program(ctx, c, b.ProgramID)
	if err != nil {
		return nil, err
	}
	row := db.Campaign{
		ID: ident.New(ident.Campaign), OrgID: p.OrgID, ProgramID: p.ID, Name: b.Name, Subject: b.Subject, Body: b.Body, Status: "draft",
		CreatedAt: c.Now, UpdatedAt: c.Now,
	}
	if err := address(ctx, c, &row, b.Audience); err != nil {
		return nil, err
	}
	if err := schedule(&row, b.ScheduledAt, c.Now); err != nil {
		return nil, err
	}
	err = queries.CampaignInsert(ctx, c.Later(), db.CampaignInsertParams{
		ID: row.ID, OrgID: row.OrgID, ProgramID: row.ProgramID, Name: row.Name, Subject: row.Subject, Body: row.Body, GroupIds: row.GroupIds,
		TagIds: row.TagIds, Statuses: row.Statuses, Status: row.Status, ScheduledAt: row.ScheduledAt, CreatedAt: c.Now, UpdatedAt: c.Now,
	})
	return api.CreateCampaign201JSONResponse(toCampaign(row)), err
}

// address sets who gets the campaign; nil means every active partner.
func address(ctx context.Context, c *work.Call, row *db.Campaign, a *api.CampaignAudience) error {
	if a == nil {
		a = &api.CampaignAudience{}
	}
	refs := audienceRefs(a.GroupIds, a.TagIds)
	for i := range refs {
		refs[i].param = "audience." + refs[i].param
	}
	row.GroupIds, row.TagIds, row.Statuses = distinct(a.GroupIds), distinct(a.TagIds), distinct(texts(a.Statuses))
	return check(ctx, c, row.ProgramID, refs...)
}

// schedule sets when the campaign goes. Without a time it waits: as a draft, or
// paused where some of it has gone already.
func schedule(row *db.Campaign, at *clock.Time, now clock.Time) error {
	row.ScheduledAt = at
	switch {
	case at != nil && !at.After(now.Time):
		return problem.Invalid("scheduled_at", "scheduled_at must lie in the future; send the campaign to send it now.")
	case at != nil:
		row.Status = "scheduled"
	case row.Status == "scheduled" && row.StartedAt == nil:
		row.Status = "draft"
	case row.Status == "scheduled":
		row.Status = "paused"
	}
	return nil
}

// UpdateCampaign changes what is still to be sent.
func (s *Server) UpdateCampaign(ctx context.Context, r api.UpdateCampaignRequestObject) (api.UpdateCampaignResponseObject, error) {
	c, b := work.From(ctx), r.Body
	row, err := editable(ctx, c, r.ID)
	if err != nil {
		return nil, err
	}
	change(&row.Name, b.Name)
	change(&row.Subject, b.Subject)
	change(&row.Body, b.Body)
	if b.Audience.IsSpecified() {
		var audience *api.CampaignAudience
		changeOrClear(&audience, b.Audience)
		if err := address(ctx, c, &row, audience); err != nil {
			return nil, err
		}
	}
	if b.ScheduledAt.IsSpecified() {
		var at *clock.Time
		changeOrClear(&at, b.ScheduledAt)
		if err := schedule(&row, at, c.Now); err != nil {
			return nil, err
		}
	}
	row.UpdatedAt = c.Now
	return api.UpdateCampaign200JSONResponse(toCampaign(row)), campaign.Save(ctx, c.Later(), row)
}

// DeleteCampaign removes a campaign that is not being sent and is not done.
func (s *Server) DeleteCampaign(ctx context.Context, r api.DeleteCampaignRequestObject) (api.DeleteCampaignResponseObject, error) {
	c := work.From(ctx)
	row, err := editable(ctx, c, r.ID)
	if err != nil {
		return nil, err
	}
	err = queries.CampaignDelete(ctx, c.Later(), db.CampaignDeleteParams{ID: row.ID, OrgID: row.OrgID})
	return api.DeleteCampaign200JSONResponse{ID: row.ID, Object: "campaign", Deleted: true}, err
}

// SendCampaign starts a draft, or goes on with a paused campaign.
func (s *Server) SendCampaign(ctx context.Context, r api.SendCampaignRequestObject) (api.SendCampaignResponseObject, error) {
	c := work.From(ctx)
	row, err := lockCampaign(ctx, c, r.ID)
	if err != nil {
		return nil, err
	}
	if !s.Mail.Ready() {
		return nil, problem.New(problem.EmailNotConfigured, "This server sends no mail: its operator has not set RAIL_SMTP_URL.")
	}
	if row.Status != "draft" && row.Status != "paused" {
		return nil, problem.New(problem.CampaignNotSendable, "The campaign is %s; only a draft or a paused campaign can be sent.", row.Status)
	}
	if row, err = campaign.Start(ctx, c.Tx, row, c.Now); err != nil {
		return nil, err
	}
	if row.Total == 0 {
		return nil, problem.New(problem.CampaignAudienceEmpty, "Nobody matches the campaign's audience.")
	}
	return api.SendCampaign200JSONResponse(toCampaign(row)), nil
}

// PauseCampaign holds what has not been sent.
func (s *Server) PauseCampaign(ctx context.Context, r api.PauseCampaignRequestObject) (api.PauseCampaignResponseObject, error) {
	c := work.From(ctx)
	row, err := lockCampaign(ctx, c, r.ID)
	if err != nil {
		return nil, err
	}
	if row.Status != "sending" && row.Status != "scheduled" {
		return nil, problem.New(problem.CampaignNotPausable, "The campaign is %s; only one that is being sent or scheduled can be paused.", row.Status)
	}
	if row, err = campaign.Pause(ctx, c.Later(), row, c.Now); err != nil {
		return nil, err
	}
	return api.PauseCampaign200JSONResponse(toCampaign(row)), campaign.Save(ctx, c.Later(), row)
}

// lockCampaign locks a campaign of the program that the request names, if it
// does (decisions, 155).
func lockCampaign(ctx context.Context, c *work.Call, id string) (db.Campaign, error) {
	row, err := queries.CampaignLock(ctx, c.Tx, db.CampaignLockParams{ID: id, OrgID: c.Key.OrgID})
	if err != nil {
		return row, err
	}
	return row, fits(c, row.ProgramID)
}

// editable locks a campaign and refuses one that is on its way or done.
func editable(ctx context.Context, c *work.Call, id string) (db.Campaign, error) {
	row, err := lockCampaign(ctx, c, id)
	if err == nil && !slices.Contains([]string{"draft", "scheduled", "paused"}, row.Status) {
		return row, problem.New(problem.CampaignNotEditable, "The campaign is %s; only a draft, a scheduled or a paused campaign can be changed or deleted.", row.Status)
	}
	return row, err
}

func toCampaign(r db.Campaign) api.Campaign {
	return api.Campaign{
		ID: r.ID, Object: "campaign", ProgramID: r.ProgramID, Name: r.Name, Subject: r.Subject, Status: api.CampaignStatus(r.Status),
		ScheduledAt: r.ScheduledAt, SentAt: r.SentAt, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
		Stats: api.CampaignStats{Total: r.Total, Queued: r.Total - r.Sent - r.Failed - r.Skipped, Sent: r.Sent, Failed: r.Failed, Opened: r.Opened, Skipped: r.Skipped},
	}
}
