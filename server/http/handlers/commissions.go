package handlers

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/list"
	"rail/server/money/commission"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// ListCommissions lists the commissions of a program, newest first.
func (s *Server) ListCommissions(ctx context.Context,
	r api.ListCommissionsRequestObject) (api.ListCommissionsResponseObject, error) {
	u, p := work.From(ctx), r.Params
	since, until, err := created(p.CreatedAfter, p.CreatedBefore)
	if err != nil {
		return nil, err
	}
	// The sale may be named by the processor's charge instead of its id.
	sale, err := u.Sale(ctx, p.ProgramID, p.SaleID, p.ExternalChargeID)
	if err != nil {
		return nil, err
	}
	rows, err := list.Of(ctx, u, list.In(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore), db.CommissionList{
		PartnerID: p.PartnerID, Status: list.Any(p.Status), SaleID: sale, PayoutID: p.PayoutID, Kind: list.Any(p.Kind),
		CreatedAfter: since, CreatedBefore: until,
	})
	if err != nil {
		return nil, err
	}
	data := mapped(rows.Rows, toCommission)
	if err := fillCommissions(ctx, u, data, p.Expand, p.Include); err != nil {
		return nil, err
	}
	return api.ListCommissions200JSONResponse{Data: data, HasMore: rows.HasMore, TotalCount: rows.Total}, nil
}

// fillCommissions adds the requested relations, in one round trip. A deleted flow is null.
func fillCommissions(ctx context.Context, u *work.Unit, commissions []api.Commission,
	expand []api.CommissionExpand, include []api.CommissionInclude) error {
	return together(ctx, u,
		explanations(ctx, u, wants(include, api.CommissionIncludeExplanation), commissions),
		embedPartner(ctx, u, wants(expand, api.CommissionExpandPartner), commissions,
			func(k *api.Commission) (*string, *nullable.Nullable[api.Partner]) { return &k.PartnerID, &k.Partner }),
		embedCustomer(ctx, u, wants(expand, api.CommissionExpandCustomer), commissions,
			func(k *api.Commission) (*string, *nullable.Nullable[api.Customer]) { return k.CustomerID, &k.Customer }),
		embedSale(ctx, u, wants(expand, api.CommissionExpandSale), commissions,
			func(k *api.Commission) (*string, *nullable.Nullable[api.Sale]) { return k.SaleID, &k.Sale }),
		embedPayout(ctx, u, wants(expand, api.CommissionExpandPayout), commissions,
			func(k *api.Commission) (*string, *nullable.Nullable[api.Payout]) { return k.PayoutID, &k.Payout }),
		embedFlow(ctx, u, wants(expand, api.CommissionExpandFlow), commissions,
			func(k *api.Commission) (*string, *nullable.Nullable[api.Flow]) { return k.FlowID, &k.Flow }))
}

// explanations returns the read of the commissions' explanations, or nil if they are not requested.
func explanations(ctx context.Context, u *work.Unit, wanted bool, commissions []api.Commission) pgtx.Read {
	if !wanted || len(commissions) == 0 {
		return nil
	}
	return func(tx pgtx.DBTX) error {
		why, err := commission.Explain(ctx, tx, u.OrgID, ids(commissions, func(k *api.Commission) string { return k.ID }))
		for i, k := range commissions {
			e := why[k.ID]
			commissions[i].Explanation = &api.CommissionExplanation{Amount: e.Amount, Partner: opt.OrNil(e.Partner)}
		}
		return err
	}
}

// RetrieveCommission returns one commission.
func (s *Server) RetrieveCommission(ctx context.Context,
	r api.RetrieveCommissionRequestObject) (api.RetrieveCommissionResponseObject, error) {
	u := work.From(ctx)
	row, err := queries.CommissionGet(ctx, u.Short(), db.CommissionGetParams{ID: r.ID, OrgID: u.OrgID})
	if err != nil {
		return nil, err
	}
	if err := u.CheckProgram(row.ProgramID); err != nil {
		return nil, err
	}
	one := []api.Commission{toCommission(row)}
	err = fillCommissions(ctx, u, one, r.Params.Expand, r.Params.Include)
	return api.RetrieveCommission200JSONResponse(one[0]), err
}

// ListMaturingCommissions lists the commissions whose mature_at is in a range of days or moments,
// both ends included, oldest first.
func (s *Server) ListMaturingCommissions(ctx context.Context,
	r api.ListMaturingCommissionsRequestObject) (api.ListMaturingCommissionsResponseObject, error) {
	u, p := work.From(ctx), r.Params
	from, to, err := window(p.From, p.To)
	if err != nil {
		return nil, err
	}
	rows, err := list.Of(ctx, u, list.In(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore), db.CommissionMaturingList{
		FromAt: from, ToAt: to, Status: list.Any(p.Status),
	})
	if err != nil {
		return nil, err
	}
	data := mapped(rows.Rows, toCommission)
	if err := fillCommissions(ctx, u, data, p.Expand, p.Include); err != nil {
		return nil, err
	}
	return api.ListMaturingCommissions200JSONResponse{Data: data, HasMore: rows.HasMore, TotalCount: rows.Total}, nil
}

// CreateCommission makes a commission by hand.
// The sale and the customer can be named by the processor's ids.
func (s *Server) CreateCommission(
	ctx context.Context, r api.CreateCommissionRequestObject,
) (api.CreateCommissionResponseObject, error) {
	b := r.Body
	k, err := commission.Grant(ctx, work.From(ctx), commission.Manual{
		ProgramID: b.ProgramID, PartnerID: b.PartnerID, Reason: b.Reason, SaleID: b.SaleID,
		ExternalChargeID: b.ExternalChargeID, CustomerID: b.CustomerID, ExternalCustomerID: b.ExternalCustomerID,
		AmountMinor: b.AmountMinor, Currency: b.Currency,
	})
	return api.CreateCommission201JSONResponse(toCommission(k)), err
}

// CorrectCommission sets the amount of an unpaid commission.
func (s *Server) CorrectCommission(
	ctx context.Context, r api.CorrectCommissionRequestObject,
) (api.CorrectCommissionResponseObject, error) {
	k, err := commission.Correct(ctx, work.From(ctx), r.ID, r.Body.AmountMinor, r.Body.Reason)
	return api.CorrectCommission200JSONResponse(toCommission(k)), err
}

// ApproveCommission approves a pending commission. A commission whose holding period has ended is
// due at once. Any other state is a 409.
func (s *Server) ApproveCommission(
	ctx context.Context, r api.ApproveCommissionRequestObject,
) (api.ApproveCommissionResponseObject, error) {
	var reason *string
	if r.Body != nil {
		reason = r.Body.Reason
	}
	k, err := commission.Approve(ctx, work.From(ctx), r.ID, reason)
	return api.ApproveCommission200JSONResponse(toCommission(k)), err
}

// RejectCommission rejects an unpaid commission permanently, and removes it from an open payout. A
// commission in a payout in flight is a 409.
func (s *Server) RejectCommission(
	ctx context.Context, r api.RejectCommissionRequestObject,
) (api.RejectCommissionResponseObject, error) {
	k, err := commission.Reject(ctx, work.From(ctx), r.ID, r.Body.Reason)
	return api.RejectCommission200JSONResponse(toCommission(k)), err
}
