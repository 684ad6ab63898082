package handlers

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// ListReferrals lists the referrals of a program, newest first.
func (s *Server) ListReferrals(ctx context.Context, r api.ListReferralsRequestObject) (api.ListReferralsResponseObject, error) {
	u, p := work.From(ctx), r.Params
	org := u.OrgID
	status, statusIn := choices(p.Status)
	rows, err := list(ctx, u, paging{
		programID: p.ProgramID, limit: p.Limit, startingAfter: p.StartingAfter, endingBefore: p.EndingBefore,
		refs: []work.Reference{work.PartnerRef("partner_id", p.PartnerID)},
	}, lister[position, db.Referral]{
		cursor: func(ctx context.Context, tx pgtx.DBTX, id string) (position, error) {
			row, err := queries.ReferralCursor(ctx, tx, db.ReferralCursorParams{ID: id, ProgramID: p.ProgramID, OrgID: org, PartnerID: p.PartnerID})
			return position{row.CreatedAt, row.ID}, err
		},
		page: byTime(func(ctx context.Context, tx pgtx.DBTX, b bounds) ([]db.Referral, error) {
			return queries.ReferralPage(ctx, tx, db.ReferralPageParams{
				ProgramID: p.ProgramID, OrgID: org, PartnerID: p.PartnerID, Status: status, StatusIn: statusIn,
				AfterAt: b.afterAt, AfterID: b.afterID, BeforeAt: b.beforeAt, BeforeID: b.beforeID, Lim: b.lim,
			})
		}),
		count: func(ctx context.Context, tx pgtx.DBTX) (int64, error) {
			return queries.ReferralCount(ctx, tx, db.ReferralCountParams{
				ProgramID: p.ProgramID, OrgID: org, PartnerID: p.PartnerID, Status: status, StatusIn: statusIn, Most: fewRows,
			})
		},
		total: rowsOf{"referrals", p.ProgramID, org, p.PartnerID, either(status, statusIn), nil}.count,
	})
	if err != nil {
		return nil, err
	}
	data := mapped(rows.rows, toReferral)
	if err := s.fillReferrals(ctx, u, data, p.Expand); err != nil {
		return nil, err
	}
	return api.ListReferrals200JSONResponse{Data: data, HasMore: rows.hasMore, TotalCount: rows.total}, nil
}

func (s *Server) fillReferrals(ctx context.Context, u *work.Unit, referrals []api.Referral, expand []api.ReferralExpand) error {
	return together(ctx, u,
		embedPartner(ctx, u, wants(expand, api.ReferralExpandPartner), referrals, func(r *api.Referral) (*string, *nullable.Nullable[api.Partner]) { return &r.PartnerID, &r.Partner }),
		embedLink(ctx, s, u, wants(expand, api.ReferralExpandLink), referrals, func(r *api.Referral) (*string, *nullable.Nullable[api.Link]) { return r.LinkID, &r.Link }))
}

// RetrieveReferral returns one referral.
func (s *Server) RetrieveReferral(ctx context.Context, r api.RetrieveReferralRequestObject) (api.RetrieveReferralResponseObject, error) {
	u := work.From(ctx)
	referral, err := queries.ReferralGet(ctx, u.DB(), db.ReferralGetParams{ID: r.ID, OrgID: u.OrgID})
	if err != nil {
		return nil, err
	}
	if err := u.CheckProgram(referral.ProgramID); err != nil {
		return nil, err
	}
	one := []api.Referral{toReferral(referral)}
	err = s.fillReferrals(ctx, u, one, r.Params.Expand)
	return api.RetrieveReferral200JSONResponse(one[0]), err
}
