package handlers

import (
	"cmp"
	"context"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// ListCommissions lists the commissions of a program, newest first.
func (s *Server) ListCommissions(ctx context.Context, r api.ListCommissionsRequestObject) (api.ListCommissionsResponseObject, error) {
	u, p := work.From(ctx), r.Params
	org := u.OrgID
	status, statusIn := choices(p.Status)
	kind, kindIn := choices(p.Kind)
	sale, err := namedSale(ctx, u, p.ProgramID, p.SaleID, p.ExternalChargeID)
	if err != nil {
		return nil, err
	}
	p.SaleID = sale
	tallied := p.SaleID == nil && (p.PartnerID == nil || p.PayoutID == nil)
	rows, err := list(ctx, u, paging{
		programID: p.ProgramID, limit: p.Limit, startingAfter: p.StartingAfter, endingBefore: p.EndingBefore,
		refs: []work.Reference{work.PartnerRef("partner_id", p.PartnerID), work.SaleRef("sale_id", p.SaleID), work.PayoutRef("payout_id", p.PayoutID)},
	}, lister[position, db.Commission]{
		cursor: func(ctx context.Context, tx pgtx.DBTX, id string) (position, error) {
			row, err := queries.CommissionCursor(ctx, tx, db.CommissionCursorParams{
				ID: id, ProgramID: p.ProgramID, OrgID: org, PartnerID: p.PartnerID, SaleID: p.SaleID, Kind: kind, KindIn: kindIn,
			})
			return position{row.CreatedAt, row.ID}, err
		},
		page: byTime(func(ctx context.Context, tx pgtx.DBTX, b bounds) ([]db.Commission, error) {
			return queries.CommissionPage(ctx, tx, db.CommissionPageParams{
				ProgramID: p.ProgramID, OrgID: org, PartnerID: p.PartnerID, Status: status, StatusIn: statusIn, SaleID: p.SaleID,
				PayoutID: p.PayoutID, Kind: kind, KindIn: kindIn,
				AfterAt: b.afterAt, AfterID: b.afterID, BeforeAt: b.beforeAt, BeforeID: b.beforeID, Lim: b.lim,
			})
		}),
		count: func(ctx context.Context, tx pgtx.DBTX) (int64, error) {
			return queries.CommissionCount(ctx, tx, db.CommissionCountParams{
				ProgramID: p.ProgramID, OrgID: org, PartnerID: p.PartnerID, Status: status, StatusIn: statusIn, SaleID: p.SaleID,
				PayoutID: p.PayoutID, Kind: kind, KindIn: kindIn, Most: atMost(tallied),
			})
		},
		total: when(tallied, rowsOf{"commissions", p.ProgramID, org, cmp.Or(p.PartnerID, p.PayoutID), either(status, statusIn), either(kind, kindIn)}.count),
	})
	if err != nil {
		return nil, err
	}
	data := mapped(rows.rows, toCommission)
	if err := fillCommissions(ctx, u, data, p.Expand); err != nil {
		return nil, err
	}
	return api.ListCommissions200JSONResponse{Data: data, HasMore: rows.hasMore, TotalCount: rows.total}, nil
}

// fillCommissions embeds what was asked for; the flow of a commission may be
// gone, and is null then.
func fillCommissions(ctx context.Context, u *work.Unit, commissions []api.Commission, expand []api.CommissionExpand) error {
	return together(ctx, u,
		embedPartner(ctx, u, wants(expand, api.CommissionExpandPartner), commissions, func(k *api.Commission) (*string, *nullable.Nullable[api.Partner]) { return &k.PartnerID, &k.Partner }),
		embedCustomer(ctx, u, wants(expand, api.CommissionExpandCustomer), commissions, func(k *api.Commission) (*string, *nullable.Nullable[api.Customer]) { return k.CustomerID, &k.Customer }),
		embedSale(ctx, u, wants(expand, api.CommissionExpandSale), commissions, func(k *api.Commission) (*string, *nullable.Nullable[api.Sale]) { return k.SaleID, &k.Sale }),
		embedPayout(ctx, u, wants(expand, api.CommissionExpandPayout), commissions, func(k *api.Commission) (*string, *nullable.Nullable[api.Payout]) { return k.PayoutID, &k.Payout }),
		embedFlow(ctx, u, wants(expand, api.CommissionExpandFlow), commissions, func(k *api.Commission) (*string, *nullable.Nullable[api.Flow]) { return k.FlowID, &k.Flow }))
}

// RetrieveCommission returns one commission.
func (s *Server) RetrieveCommission(ctx context.Context, r api.RetrieveCommissionRequestObject) (api.RetrieveCommissionResponseObject, error) {
	u := work.From(ctx)
	commission, err := queries.CommissionGet(ctx, u.DB(), db.CommissionGetParams{ID: r.ID, OrgID: u.OrgID})
	if err != nil {
		return nil, err
	}
	if err := u.CheckProgram(commission.ProgramID); err != nil {
		return nil, err
	}
	one := []api.Commission{toCommission(commission)}
	err = fillCommissions(ctx, u, one, r.Params.Expand)
	return api.RetrieveCommission200JSONResponse(one[0]), err
}
