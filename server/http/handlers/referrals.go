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
	p := r.Params
	q := newQuery(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore)
	out, err := readPage(ctx, q, db.ReferralList{
		PartnerID: p.PartnerID, Status: list.Any(p.Status),
		CreatedAfter: q.date("created_after", p.CreatedAfter), CreatedBefore: q.date("created_before", p.CreatedBefore),
	}, toReferral, s.referralParts(p.Expand)...)
	return api.ListReferrals200JSONResponse(out), err
}

func (s *Server) referralParts(expand []api.ReferralExpand) []part[api.Referral] {
	return []part[api.Referral]{
		embedPartner(wants(expand, api.ReferralExpandPartner),
			func(r *api.Referral) (*string, *nullable.Nullable[api.Partner]) { return &r.PartnerID, &r.Partner }),
		embedLink(s, wants(expand, api.ReferralExpandLink),
			func(r *api.Referral) (*string, *nullable.Nullable[api.Link]) { return r.LinkID, &r.Link }),
	}
}

// RetrieveReferral returns one referral, with its link even if that is deleted.
func (s *Server) RetrieveReferral(ctx context.Context,
	r api.RetrieveReferralRequestObject) (api.RetrieveReferralResponseObject, error) {
	u := work.From(ctx)
	referral, err := queries.ReferralGet(ctx, u.Short(), db.ReferralGetParams{ID: r.ID, OrgID: u.OrgID})
	out, err := complete(ctx, toReferral(referral), referral.ProgramID, err, s.referralParts(r.Params.Expand)...)
	return api.RetrieveReferral200JSONResponse(out), err
}
