package handlers

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/clock"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/work"
)

// ListSales lists the sales of a program, newest first by when they were
// recorded, whenever they occurred.
func (s *Server) ListSales(ctx context.Context, r api.ListSalesRequestObject) (api.ListSalesResponseObject, error) {
	u, p := work.From(ctx), r.Params
	org := u.OrgID
	after, err := dateFilter("occurred_after", p.OccurredAfter)
	if err != nil {
		return nil, err
	}
	before, err := dateFilter("occurred_before", p.OccurredBefore)
	if err != nil {
		return nil, err
	}
	var refunded *bool
	if p.Refunded != nil {
		refunded = new(*p.Refunded == api.SaleRefundedFilterTrue)
	}
	if p.CustomerID, err = namedCustomer(ctx, u, p.ProgramID, p.CustomerID, p.ExternalCustomerID); err != nil {
		return nil, err
	}
	few := p.CustomerID != nil || p.ExternalChargeID != nil
	// Few of many sales may pass these: to look for some would be to pass over all.
	picky := after != nil || before != nil || refunded != nil
	total := func(ctx context.Context, tx pgtx.DBTX) (int64, error) {
		return queries.SaleTotal(ctx, tx, db.SaleTotalParams{ProgramID: p.ProgramID, OrgID: org, PartnerID: p.PartnerID, OccurredAfter: after, OccurredBefore: before, Refunded: refunded})
	}
	rows, err := list(ctx, u, paging{
		programID: p.ProgramID, limit: p.Limit, startingAfter: p.StartingAfter, endingBefore: p.EndingBefore,
		refs: []work.Reference{work.PartnerRef("partner_id", p.PartnerID), work.CustomerRef("customer_id", p.CustomerID)},
	}, lister[position, db.Sale]{
		cursor: func(ctx context.Context, tx pgtx.DBTX, id string) (position, error) {
			row, err := queries.SaleCursor(ctx, tx, db.SaleCursorParams{ID: id, ProgramID: p.ProgramID, OrgID: org, PartnerID: p.PartnerID, CustomerID: p.CustomerID, ExternalChargeID: p.ExternalChargeID})
			return position{row.CreatedAt, row.ID}, err
		},
		page: byTime(func(ctx context.Context, tx pgtx.DBTX, b bounds) ([]db.Sale, error) {
			return queries.SalePage(ctx, tx, db.SalePageParams{
				ProgramID: p.ProgramID, OrgID: org, PartnerID: p.PartnerID, CustomerID: p.CustomerID, ExternalChargeID: p.ExternalChargeID, OccurredAfter: after,
				OccurredBefore: before, Refunded: refunded,
				AfterAt: b.afterAt, AfterID: b.afterID, BeforeAt: b.beforeAt, BeforeID: b.beforeID, Lim: b.lim,
			})
		}),
		count: func(ctx context.Context, tx pgtx.DBTX) (int64, error) {
			if picky && !few {
				return total(ctx, tx)
			}
			return queries.SaleCount(ctx, tx, db.SaleCountParams{
				ProgramID: p.ProgramID, OrgID: org, PartnerID: p.PartnerID, CustomerID: p.CustomerID, ExternalChargeID: p.ExternalChargeID, OccurredAfter: after,
				OccurredBefore: before, Refunded: refunded, Most: atMost(!few),
			})
		},
		total: when(!picky && !few, total),
	})
	if err != nil {
		return nil, err
	}
	data := mapped(rows.rows, toSale)
	if err := fillSales(ctx, u, data, p.Expand); err != nil {
		return nil, err
	}
	return api.ListSales200JSONResponse{Data: data, HasMore: rows.hasMore, TotalCount: rows.total}, nil
}

// dateFilter reads a filter that takes an ISO date, which is its midnight in
// UTC, or a date-time (decisions, 29).
func dateFilter(param string, given *string) (*clock.Time, error) {
	if given == nil {
		return nil, nil
	}
	t, _, err := clock.ParseDate(*given)
	if err != nil {
		return nil, problem.Invalid(param, "%s %s.", param, err)
	}
	return &t, nil
}

func fillSales(ctx context.Context, u *work.Unit, sales []api.Sale, expand []api.SaleExpand) error {
	return together(ctx, u,
		embedPartner(ctx, u, wants(expand, api.SaleExpandPartner), sales, func(k *api.Sale) (*string, *nullable.Nullable[api.Partner]) { return k.PartnerID, &k.Partner }),
		embedCustomer(ctx, u, wants(expand, api.SaleExpandCustomer), sales, func(k *api.Sale) (*string, *nullable.Nullable[api.Customer]) { return &k.CustomerID, &k.Customer }))
}

// RetrieveSale returns one sale.
func (s *Server) RetrieveSale(ctx context.Context, r api.RetrieveSaleRequestObject) (api.RetrieveSaleResponseObject, error) {
	u := work.From(ctx)
	sale, err := queries.SaleGet(ctx, u.DB(), db.SaleGetParams{ID: r.ID, OrgID: u.OrgID})
	if err != nil {
		return nil, err
	}
	if err := u.CheckProgram(sale.ProgramID); err != nil {
		return nil, err
	}
	one := []api.Sale{toSale(sale)}
	err = fillSales(ctx, u, one, r.Params.Expand)
	return api.RetrieveSale200JSONResponse(one[0]), err
}
