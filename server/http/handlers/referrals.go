package handlers

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/list"
	"rail/server/work"
)

// ListReferrals lists the referrals of a program, newest first. Clicks open them; no operation
// creates one.
func (s *Server) ListReferrals(ctx context.Context,
	r api.ListReferralsRequestObject) (api.ListReferralsResponseObject, error) {
	u, p := work.From(ctx), r.Params
	since, until, err := created(p.CreatedAfter, p.CreatedBefore)
	if err != nil {
		return nil, err
	}
	rows, err := list.Of(ctx, u, list.In(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore), db.ReferralList{
		PartnerID: p.PartnerID, Status: list.Any(p.Status),
		CreatedAfter: since, CreatedBefore: until,
	})
	if err != nil {
		return nil, err
	}
	data := mapped(rows.Rows, toReferral)
	if err := s.fillReferrals(ctx, u, data, p.Expand); err != nil {
		return nil, err
	}
	return api.ListReferrals200JSONResponse{Data: data, HasMore: rows.HasMore, TotalCount: rows.Total}, nil
}

// fillReferrals adds the relations that the query requests, in one round trip.
func (s *Server) fillReferrals(ctx context.Context, u *work.Unit, referrals []api.Referral,
	expand []api.ReferralExpand) error {
	return together(ctx, u,
		embedPartner(ctx, u, wants(expand, api.ReferralExpandPartner), referrals,
			func(r *api.Referral) (*string, *nullable.Nullable[api.Partner]) { return &r.PartnerID, &r.Partner }),
		embedLink(ctx, s, u, wants(expand, api.ReferralExpandLink), referrals,
			func(r *api.Referral) (*string, *nullable.Nullable[api.Link]) { return r.LinkID, &r.Link }))
}

// RetrieveReferral returns one referral, with its link even if that is deleted.
func (s *Server) RetrieveReferral(ctx context.Context,
	r api.RetrieveReferralRequestObject) (api.RetrieveReferralResponseObject, error) {
	u := work.From(ctx)
	referral, err := queries.ReferralGet(ctx, u.Short(), db.ReferralGetParams{ID: r.ID, OrgID: u.OrgID})
	if err != nil {
		return nil, err
	}
	if err := u.CheckProgram(referral.ProgramID); err != nil {
		return nil, err
	}
	// A page of one, so that relations are filled in like those of lists.
	one := []api.Referral{toReferral(referral)}
	err = s.fillReferrals(ctx, u, one, r.Params.Expand)
	return api.RetrieveReferral200JSONResponse(one[0]), err
}
