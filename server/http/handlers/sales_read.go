package handlers

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/clock"
	"rail/server/page"
	"rail/server/problem"
	"rail/server/work"
)

// ListSales lists the sales of a program, newest first by when they were
// recorded, whenever they occurred.
func (s *Server) ListSales(ctx context.Context, r api.ListSalesRequestObject) (api.ListSalesResponseObject, error) {
	u, p := work.From(ctx), r.Params
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
	customer, err := namedCustomer(ctx, u, p.ProgramID, p.CustomerID, p.ExternalCustomerID)
	if err != nil {
		return nil, err
	}
	rows, err := page.Of(ctx, u, page.In(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore), db.SaleList{
		PartnerID: p.PartnerID, CustomerID: customer, ExternalChargeID: p.ExternalChargeID,
		OccurredAfter: after, OccurredBefore: before, Refunded: refunded,
	})
	if err != nil {
		return nil, err
	}
	data := mapped(rows.Rows, toSale)
	if err := fillSales(ctx, u, data, p.Expand); err != nil {
		return nil, err
	}
	return api.ListSales200JSONResponse{Data: data, HasMore: rows.HasMore, TotalCount: rows.Total}, nil
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
