package handlers

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// ListClicks lists the clicks of a program, newest first.
func (s *Server) ListClicks(ctx context.Context, r api.ListClicksRequestObject) (api.ListClicksResponseObject, error) {
	u, p := work.From(ctx), r.Params
	org := u.OrgID
	rows, err := list(ctx, u, paging{
		programID: p.ProgramID, limit: p.Limit, startingAfter: p.StartingAfter, endingBefore: p.EndingBefore,
		refs: []work.Reference{work.PartnerRef("partner_id", p.PartnerID), work.LinkRef("link_id", p.LinkID), work.ReferralRef("referral_id", p.ReferralID)},
	}, lister[position, db.Click]{
		cursor: func(ctx context.Context, tx pgtx.DBTX, id string) (position, error) {
			row, err := queries.ClickCursor(ctx, tx, db.ClickCursorParams{
				ID: id, ProgramID: p.ProgramID, OrgID: org, PartnerID: p.PartnerID, LinkID: p.LinkID, ReferralID: p.ReferralID,
			})
			return position{row.CreatedAt, row.ID}, err
		},
		page: byTime(func(ctx context.Context, tx pgtx.DBTX, b bounds) ([]db.Click, error) {
			return queries.ClickPage(ctx, tx, db.ClickPageParams{
				ProgramID: p.ProgramID, OrgID: org, PartnerID: p.PartnerID, LinkID: p.LinkID, ReferralID: p.ReferralID,
				AfterAt: b.afterAt, AfterID: b.afterID, BeforeAt: b.beforeAt, BeforeID: b.beforeID, Lim: b.lim,
			})
		}),
		count: func(ctx context.Context, tx pgtx.DBTX) (int64, error) {
			return queries.ClickCount(ctx, tx, db.ClickCountParams{
				ProgramID: p.ProgramID, OrgID: org, PartnerID: p.PartnerID, LinkID: p.LinkID, ReferralID: p.ReferralID, Most: atMost(p.ReferralID == nil),
			})
		},
		total: when(p.ReferralID == nil, func(ctx context.Context, tx pgtx.DBTX) (int64, error) {
			return queries.ClickTotal(ctx, tx, db.ClickTotalParams{ProgramID: p.ProgramID, OrgID: org, PartnerID: p.PartnerID, LinkID: p.LinkID})
		}),
	})
	if err != nil {
		return nil, err
	}
	data := mapped(rows.rows, toClick)
	if err := s.fillClicks(ctx, u, data, p.Expand); err != nil {
		return nil, err
	}
	return api.ListClicks200JSONResponse{Data: data, HasMore: rows.hasMore, TotalCount: rows.total}, nil
}

func (s *Server) fillClicks(ctx context.Context, u *work.Unit, clicks []api.Click, expand []api.ClickExpand) error {
	return together(ctx, u,
		embedPartner(ctx, u, wants(expand, api.ClickExpandPartner), clicks, func(k *api.Click) (*string, *nullable.Nullable[api.Partner]) { return &k.PartnerID, &k.Partner }),
		embedLink(ctx, s, u, wants(expand, api.ClickExpandLink), clicks, func(k *api.Click) (*string, *nullable.Nullable[api.Link]) { return k.LinkID, &k.Link }),
		embedReferral(ctx, u, wants(expand, api.ClickExpandReferral), clicks, func(k *api.Click) (*string, *nullable.Nullable[api.Referral]) { return k.ReferralID, &k.Referral }))
}

// RetrieveClick returns one click.
func (s *Server) RetrieveClick(ctx context.Context, r api.RetrieveClickRequestObject) (api.RetrieveClickResponseObject, error) {
	u := work.From(ctx)
	click, err := queries.ClickGet(ctx, u.DB(), db.ClickGetParams{ID: r.ID, OrgID: u.OrgID})
	if err != nil {
		return nil, err
	}
	if err := u.CheckProgram(click.ProgramID); err != nil {
		return nil, err
	}
	one := []api.Click{toClick(click)}
	err = s.fillClicks(ctx, u, one, r.Params.Expand)
	return api.RetrieveClick200JSONResponse(one[0]), err
}
