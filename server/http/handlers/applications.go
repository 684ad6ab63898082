package handlers

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/list"
	"rail/server/program/partner"
	"rail/server/work"
)

// ListApplications lists the applications of a program, newest first.
func (s *Server) ListApplications(ctx context.Context,
	r api.ListApplicationsRequestObject) (api.ListApplicationsResponseObject, error) {
	p := r.Params
	q := newQuery(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore)
	out, err := readPage(ctx, q, db.ApplicationList{
		PartnerID: p.PartnerID, Status: list.Any(p.Status),
		CreatedAfter: q.date("created_after", p.CreatedAfter), CreatedBefore: q.date("created_before", p.CreatedBefore),
	}, toApplication, applicationParts(p.Expand)...)
	return api.ListApplications200JSONResponse(out), err
}

func applicationParts(expand []api.ApplicationExpand) []part[api.Application] {
	return []part[api.Application]{
		embedPartner(wants(expand, api.ApplicationExpandPartner),
			func(a *api.Application) (*string, *nullable.Nullable[api.Partner]) { return a.PartnerID, &a.Partner }),
		embedGroup(wants(expand, api.ApplicationExpandGroup),
			func(a *api.Application) (*string, *nullable.Nullable[api.Group]) { return a.GroupID, &a.Group }),
	}
}

// RetrieveApplication returns one application.
func (s *Server) RetrieveApplication(ctx context.Context,
	r api.RetrieveApplicationRequestObject) (api.RetrieveApplicationResponseObject, error) {
	u := work.From(ctx)
	a, err := queries.ApplicationGet(ctx, u.Short(), db.ApplicationGetParams{ID: r.ID, OrgID: u.OrgID})
	out, err := complete(ctx, toApplication(a), a.ProgramID, err, applicationParts(r.Params.Expand)...)
	return api.RetrieveApplication200JSONResponse(out), err
}

// CreateApplication puts an applicant in the review queue. A declined applicant applies again with
// the same call.
func (s *Server) CreateApplication(ctx context.Context,
	r api.CreateApplicationRequestObject) (api.CreateApplicationResponseObject, error) {
	b := r.Body
	a, err := partner.Apply(ctx, work.From(ctx), partner.Candidate{
		ProgramID: b.ProgramID, GroupID: b.GroupID, Email: b.Email, Handle: b.Handle, FirstName: b.FirstName,
		LastName: b.LastName, WebsiteURL: b.WebsiteURL, CountryCode: b.CountryCode,
	}, b.Answers)
	return api.CreateApplication201JSONResponse(toApplication(a)), err
}

// ApproveApplication makes the applicant an active partner. An application with a decision is a
// 409.
func (s *Server) ApproveApplication(ctx context.Context,
	r api.ApproveApplicationRequestObject) (api.ApproveApplicationResponseObject, error) {
	a, err := s.Partners.Approve(ctx, work.From(ctx), r.ID)
	return api.ApproveApplication200JSONResponse(toApplication(a)), err
}

// RejectApplication declines the applicant.
// The reason is mailed to the applicant; without one, a general sentence is.
func (s *Server) RejectApplication(ctx context.Context,
	r api.RejectApplicationRequestObject) (api.RejectApplicationResponseObject, error) {
	var reason *string
	if r.Body != nil {
		reason = r.Body.Reason
	}
	a, err := s.Partners.Reject(ctx, work.From(ctx), r.ID, reason)
	return api.RejectApplication200JSONResponse(toApplication(a)), err
}

// WithdrawApplication withdraws an application on behalf of the applicant, and sends no mail.
func (s *Server) WithdrawApplication(ctx context.Context,
	r api.WithdrawApplicationRequestObject) (api.WithdrawApplicationResponseObject, error) {
	a, err := partner.Withdraw(ctx, work.From(ctx), r.ID)
	return api.WithdrawApplication200JSONResponse(toApplication(a)), err
}

// ReopenApplication undoes the decision on an application.
func (s *Server) ReopenApplication(ctx context.Context,
	r api.ReopenApplicationRequestObject) (api.ReopenApplicationResponseObject, error) {
	a, err := s.Partners.Reopen(ctx, work.From(ctx), r.ID)
	return api.ReopenApplication200JSONResponse(toApplication(a)), err
}

// toApplication converts an application. The partner is null for an imported application without a
// decision.
func toApplication(a db.Application) api.Application {
	return api.Application{
		ID:               a.ID,
		Object:           "application",
		ProgramID:        a.ProgramID,
		GroupID:          a.GroupID,
		PartnerID:        a.PartnerID,
		Email:            a.Email,
		Answers:          a.Answers,
		Source:           (*api.ApplicationSource)(a.Source),
		Status:           api.ApplicationStatus(a.Status),
		ReviewedByUserID: a.ReviewedByUserID,
		ReviewedAt:       a.ReviewedAt,
		RejectionReason:  a.RejectionReason,
		CreatedAt:        a.CreatedAt,
		UpdatedAt:        a.UpdatedAt,
	}
}
