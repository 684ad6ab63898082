package handlers

import (
	"context"
	"slices"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/opt"
	"rail/server/outbound/campaign"
	"rail/server/page"
	"rail/server/problem"
	"rail/server/work"
)

// ListCampaigns lists the campaigns of a program, newest first.
func (s *Server) ListCampaigns(ctx context.Context,
	r api.ListCampaignsRequestObject) (api.ListCampaignsResponseObject, error) {
	u, p := work.From(ctx), r.Params
	rows, err := page.Of(ctx, u, page.In(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore), db.CampaignList{})
	return api.ListCampaigns200JSONResponse{
		Data: mapped(rows.Rows, toCampaign), HasMore: rows.HasMore, TotalCount: rows.Total,
	}, err
}

// RetrieveCampaign returns one campaign.
func (s *Server) RetrieveCampaign(ctx context.Context,
	r api.RetrieveCampaignRequestObject) (api.RetrieveCampaignResponseObject, error) {
	u := work.From(ctx)
	row, err := queries.CampaignGet(ctx, u.DB(), db.CampaignGetParams{ID: r.ID, OrgID: u.OrgID})
	if err != nil {
		return nil, err
	}
	return api.RetrieveCampaign200JSONResponse(toCampaign(row)), u.CheckProgram(row.ProgramID)
}

// CreateCampaign prepares a campaign.
func (s *Server) CreateCampaign(ctx context.Context,
	r api.CreateCampaignRequestObject) (api.CreateCampaignResponseObject, error) {
	u, b := work.From(ctx), r.Body
	p, err := u.Program(ctx, b.ProgramID)
	if err != nil {
		return nil, err
	}
	row := db.Campaign{
		ID: ident.New(ident.Campaign), OrgID: p.OrgID, ProgramID: p.ID, Name: b.Name, Subject: b.Subject, Body: b.Body,
		Status:    db.CampaignStatusDraft,
		CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	if err := address(ctx, u, &row, b.Audience); err != nil {
		return nil, err
	}
	if err := schedule(&row, b.ScheduledAt, u.Now); err != nil {
		return nil, err
	}
	err = queries.CampaignInsert(ctx, u.Later(), db.CampaignInsertParams(row))
	return api.CreateCampaign201JSONResponse(toCampaign(row)), err
}

// address sets the audience of the campaign; nil means every active partner.
// Refusals name the members below audience.
func address(ctx context.Context, u *work.Unit, row *db.Campaign, a *api.CampaignAudience) error {
	if a == nil {
		a = &api.CampaignAudience{}
	}
	refs := audienceRefs(a.GroupIds, a.TagIds)
	for i := range refs {
		refs[i].Param = "audience." + refs[i].Param
	}
	row.GroupIds, row.TagIds, row.Statuses = distinct(a.GroupIds), distinct(a.TagIds), distinct(texts(a.Statuses))
	return u.Check(ctx, row.ProgramID, refs...)
}

// schedule sets when the campaign is sent. Without a time a scheduled campaign
// becomes a draft again, or paused where some of its mails have been sent
// already.
func schedule(row *db.Campaign, at *clock.Time, now clock.Time) error {
	row.ScheduledAt = at
	switch {
	case at != nil && !at.After(now.Time):
		return problem.Invalid("scheduled_at", "scheduled_at must lie in the future; send the campaign to send it now.")
	case at != nil:
		row.Status = db.CampaignStatusScheduled
	case row.Status == db.CampaignStatusScheduled && row.StartedAt == nil:
		row.Status = db.CampaignStatusDraft
	case row.Status == db.CampaignStatusScheduled:
		row.Status = db.CampaignStatusPaused
	}
	return nil
}

// UpdateCampaign changes what is still to be sent.
func (s *Server) UpdateCampaign(ctx context.Context,
	r api.UpdateCampaignRequestObject) (api.UpdateCampaignResponseObject, error) {
	u, b := work.From(ctx), r.Body
	row, err := editable(ctx, u, r.ID)
	if err != nil {
		return nil, err
	}
	opt.Change(&row.Name, b.Name)
	opt.Change(&row.Subject, b.Subject)
	opt.Change(&row.Body, b.Body)
	if b.Audience.IsSpecified() {
		var audience *api.CampaignAudience
		opt.ChangeOrClear(&audience, b.Audience)
		if err := address(ctx, u, &row, audience); err != nil {
			return nil, err
		}
	}
	if b.ScheduledAt.IsSpecified() {
		var at *clock.Time
		opt.ChangeOrClear(&at, b.ScheduledAt)
		if err := schedule(&row, at, u.Now); err != nil {
			return nil, err
		}
	}
	row.UpdatedAt = u.Now
	return api.UpdateCampaign200JSONResponse(toCampaign(row)), campaign.Save(ctx, u.Later(), row)
}

// DeleteCampaign removes a campaign that is not being sent and is not done.
func (s *Server) DeleteCampaign(ctx context.Context,
	r api.DeleteCampaignRequestObject) (api.DeleteCampaignResponseObject, error) {
	u := work.From(ctx)
	row, err := editable(ctx, u, r.ID)
	if err != nil {
		return nil, err
	}
	err = queries.CampaignDelete(ctx, u.Later(), db.CampaignDeleteParams{ID: row.ID, OrgID: row.OrgID})
	return api.DeleteCampaign200JSONResponse{ID: row.ID, Object: "campaign", Deleted: true}, err
}

// SendCampaign starts a draft, or goes on with a paused campaign.
func (s *Server) SendCampaign(ctx context.Context,
	r api.SendCampaignRequestObject) (api.SendCampaignResponseObject, error) {
	u := work.From(ctx)
	row, err := lockCampaign(ctx, u, r.ID)
	if err != nil {
		return nil, err
	}
	// Checked before the state: the operator must act first in any case.
	if !s.Mail.Ready() {
		return nil, problem.New(problem.EmailNotConfigured,
			"This server sends no mail: its operator has not set RAIL_SMTP_URL.")
	}
	if row.Status != db.CampaignStatusDraft && row.Status != db.CampaignStatusPaused {
		return nil, problem.New(problem.CampaignNotSendable,
			"The campaign is %s; only a draft or a paused campaign can be sent.", row.Status)
	}
	if row, err = campaign.Start(ctx, u.Tx, row, u.Now); err != nil {
		return nil, err
	}
	if row.Total == 0 {
		return nil, problem.New(problem.CampaignAudienceEmpty, "Nobody matches the campaign's audience.")
	}
	return api.SendCampaign200JSONResponse(toCampaign(row)), nil
}

// PauseCampaign stops sending; mails that have left stay sent.
func (s *Server) PauseCampaign(ctx context.Context,
	r api.PauseCampaignRequestObject) (api.PauseCampaignResponseObject, error) {
	u := work.From(ctx)
	row, err := lockCampaign(ctx, u, r.ID)
	if err != nil {
		return nil, err
	}
	if row.Status != db.CampaignStatusSending && row.Status != db.CampaignStatusScheduled {
		return nil, problem.New(problem.CampaignNotPausable,
			"The campaign is %s; only one that is being sent or scheduled can be paused.", row.Status)
	}
	if row, err = campaign.Pause(ctx, u.Later(), row, u.Now); err != nil {
		return nil, err
	}
	return api.PauseCampaign200JSONResponse(toCampaign(row)), campaign.Save(ctx, u.Later(), row)
}

// lockCampaign locks a campaign of the program that the request names, if it
// does (decisions, 155).
func lockCampaign(ctx context.Context, u *work.Unit, id string) (db.Campaign, error) {
	row, err := queries.CampaignLock(ctx, u.Tx, db.CampaignLockParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return row, err
	}
	return row, u.CheckProgram(row.ProgramID)
}

// editable locks a campaign and refuses one that is being sent or has been sent.
func editable(ctx context.Context, u *work.Unit, id string) (db.Campaign, error) {
	row, err := lockCampaign(ctx, u, id)
	if err == nil &&
		!slices.Contains([]db.CampaignStatus{db.CampaignStatusDraft, db.CampaignStatusScheduled, db.CampaignStatusPaused},
			row.Status) {
		return row, problem.New(problem.CampaignNotEditable,
			"The campaign is %s; only a draft, a scheduled or a paused campaign can be changed or deleted.", row.Status)
	}
	return row, err
}

func toCampaign(r db.Campaign) api.Campaign {
	return api.Campaign{
		ID: r.ID, Object: "campaign", ProgramID: r.ProgramID, Name: r.Name, Subject: r.Subject,
		Status:      api.CampaignStatus(r.Status),
		ScheduledAt: r.ScheduledAt, SentAt: r.SentAt, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
		Stats: api.CampaignStats{
			Total: r.Total, Queued: r.Total - r.Sent - r.Failed - r.Skipped, Sent: r.Sent, Failed: r.Failed, Opened: r.Opened,
			Skipped: r.Skipped,
		},
	}
}
