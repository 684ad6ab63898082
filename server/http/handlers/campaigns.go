package handlers

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/opt"
	"rail/server/outbound/campaign"
	"rail/server/work"
)

// ListCampaigns lists the campaigns of a program, newest first.
func (s *Server) ListCampaigns(ctx context.Context,
	r api.ListCampaignsRequestObject) (api.ListCampaignsResponseObject, error) {
	p := r.Params
	q := newQuery(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore)
	out, err := readPage(ctx, q, db.CampaignList{}, toCampaign)
	return api.ListCampaigns200JSONResponse(out), err
}

// RetrieveCampaign returns one campaign.
func (s *Server) RetrieveCampaign(ctx context.Context,
	r api.RetrieveCampaignRequestObject) (api.RetrieveCampaignResponseObject, error) {
	u := work.From(ctx)
	row, err := queries.CampaignGet(ctx, u.Short(), db.CampaignGetParams{ID: r.ID, OrgID: u.OrgID})
	out, err := complete(ctx, toCampaign(row), row.ProgramID, err)
	return api.RetrieveCampaign200JSONResponse(out), err
}

// CreateCampaign prepares a campaign.
func (s *Server) CreateCampaign(ctx context.Context,
	r api.CreateCampaignRequestObject) (api.CreateCampaignResponseObject, error) {
	b := r.Body
	row, err := campaign.Create(ctx, work.From(ctx), campaign.Input{
		ProgramID: b.ProgramID, Name: b.Name, Subject: b.Subject, Body: b.Body,
		Audience: audience(opt.Value(b.Audience)), ScheduledAt: b.ScheduledAt,
	})
	return api.CreateCampaign201JSONResponse(toCampaign(row)), err
}

func audience(a api.CampaignAudience) campaign.Audience {
	return campaign.Audience{GroupIDs: a.GroupIds, TagIDs: a.TagIds, Statuses: texts(a.Statuses), PartnerIDs: a.PartnerIds}
}

// UpdateCampaign changes a campaign that is not sent yet. A null audience resets it to the default.
func (s *Server) UpdateCampaign(ctx context.Context,
	r api.UpdateCampaignRequestObject) (api.UpdateCampaignResponseObject, error) {
	b := r.Body
	to := campaign.Changes{Name: b.Name, Subject: b.Subject, Body: b.Body, ScheduledAt: b.ScheduledAt}
	if b.Audience.IsSpecified() {
		input, _ := b.Audience.Get() // the zero value for null
		to.Audience = new(audience(input))
	}
	row, err := campaign.Update(ctx, work.From(ctx), r.ID, to)
	return api.UpdateCampaign200JSONResponse(toCampaign(row)), err
}

// DeleteCampaign removes a campaign that is neither being sent nor finished.
func (s *Server) DeleteCampaign(ctx context.Context,
	r api.DeleteCampaignRequestObject) (api.DeleteCampaignResponseObject, error) {
	err := campaign.Delete(ctx, work.From(ctx), r.ID)
	return api.DeleteCampaign200JSONResponse{ID: r.ID, Object: "campaign", Deleted: true}, err
}

// SendCampaign starts a draft, or resumes a paused campaign.
func (s *Server) SendCampaign(ctx context.Context,
	r api.SendCampaignRequestObject) (api.SendCampaignResponseObject, error) {
	row, err := campaign.Send(ctx, work.From(ctx), s.Mail, r.ID)
	return api.SendCampaign200JSONResponse(toCampaign(row)), err
}

// PauseCampaign stops sending; delivered mails are not affected.
func (s *Server) PauseCampaign(ctx context.Context,
	r api.PauseCampaignRequestObject) (api.PauseCampaignResponseObject, error) {
	row, err := campaign.Pause(ctx, work.From(ctx), r.ID)
	return api.PauseCampaign200JSONResponse(toCampaign(row)), err
}

// ResumeCampaign resumes a paused campaign.
func (s *Server) ResumeCampaign(ctx context.Context,
	r api.ResumeCampaignRequestObject) (api.ResumeCampaignResponseObject, error) {
	row, err := campaign.Resume(ctx, work.From(ctx), s.Mail, r.ID)
	return api.ResumeCampaign200JSONResponse(toCampaign(row)), err
}

// PreviewCampaign returns the mail of a campaign and the current number of recipients.
func (s *Server) PreviewCampaign(ctx context.Context,
	r api.PreviewCampaignRequestObject) (api.PreviewCampaignResponseObject, error) {
	p, err := campaign.Show(ctx, work.From(ctx), s.Mail, r.ID, opt.Value(r.Params.PartnerID))
	return api.PreviewCampaign200JSONResponse{
		Object:     "campaign_preview",
		CampaignID: p.ID,
		Subject:    p.Subject,
		Body:       p.Body,
		HTML:       p.HTML,
		Audience: api.CampaignAudience{
			GroupIds: p.GroupIds, TagIds: p.TagIds, PartnerIds: p.PartnerIds,
			Statuses: mapped(p.Statuses, func(t string) api.PartnerStatus {
				return api.PartnerStatus(t)
			}),
		},
		Total:   p.Total,
		Skipped: p.Skipped,
		Email:   toCampaignEmail(p.Email),
	}, err
}

// PreviewCampaignDraft returns the mail of a text that is not saved, and the current number of recipients.
func (s *Server) PreviewCampaignDraft(ctx context.Context,
	r api.PreviewCampaignDraftRequestObject) (api.PreviewCampaignDraftResponseObject, error) {
	b := r.Body
	in := campaign.Input{
		ProgramID: b.ProgramID,
		Subject:   b.Subject,
		Body:      b.Body,
		Audience:  audience(opt.Value(b.Audience)),
	}
	p, err := campaign.Draft(ctx, work.From(ctx), s.Mail, in, opt.Value(b.PartnerID))
	return api.PreviewCampaignDraft200JSONResponse{
		Object: "campaign_draft_preview", ProgramID: p.ProgramID, Total: p.Total, Skipped: p.Skipped,
		Email: toCampaignEmail(p.Email),
	}, err
}

func toCampaignEmail(e campaign.Email) api.CampaignEmail {
	return api.CampaignEmail{
		PartnerID: opt.OrNil(e.PartnerID), Recipient: opt.OrNil(e.To), From: e.From, Subject: e.Subject, HTML: e.HTML,
		Text: e.Plain,
	}
}

// TestCampaign sends the mail of a campaign to the caller's address.
func (s *Server) TestCampaign(ctx context.Context,
	r api.TestCampaignRequestObject) (api.TestCampaignResponseObject, error) {
	partner := ""
	if r.Body != nil {
		partner = opt.Value(r.Body.PartnerID)
	}
	to, err := campaign.Test(ctx, work.From(ctx), s.Mail, r.ID, partner)
	return api.TestCampaign200JSONResponse{Object: "campaign_test", CampaignID: r.ID, Recipient: to}, err
}

func toCampaign(r db.Campaign) api.Campaign {
	return api.Campaign{
		ID:          r.ID,
		Object:      "campaign",
		ProgramID:   r.ProgramID,
		Name:        r.Name,
		Subject:     r.Subject,
		Status:      api.CampaignStatus(r.Status),
		ScheduledAt: r.ScheduledAt,
		SentAt:      r.SentAt,
		CreatedAt:   r.CreatedAt,
		UpdatedAt:   r.UpdatedAt,
		Stats: api.CampaignStats{
			Total:   r.Total,
			Queued:  r.Total - r.Sent - r.Failed - r.Skipped,
			Sent:    r.Sent,
			Failed:  r.Failed,
			Opened:  r.Opened,
			Skipped: r.Skipped,
		},
	}
}
