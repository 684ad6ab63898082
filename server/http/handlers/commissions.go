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
	p := r.Params
	q := newQuery(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore)
	since, until := q.date("created_after", p.CreatedAfter), q.date("created_before", p.CreatedBefore)
	if q.err != nil {
		return nil, q.err
	}
	// The sale may be named by the processor's charge instead of its id.
	sale, err := work.From(ctx).Sale(ctx, p.ProgramID, p.SaleID, p.ExternalChargeID)
	if err != nil {
		return nil, err
	}
	out, err := readPage(ctx, q, db.CommissionList{
		PartnerID: p.PartnerID, Status: list.Any(p.Status), SaleID: sale, PayoutID: p.PayoutID, Kind: list.Any(p.Kind),
		CreatedAfter: since, CreatedBefore: until,
	}, toCommission, commissionParts(p.Expand, p.Include)...)
	return api.ListCommissions200JSONResponse(out), err
}

// commissionParts returns the requested parts. A deleted flow is null.
func commissionParts(expand []api.CommissionExpand, include []api.CommissionInclude) []part[api.Commission] {
	return []part[api.Commission]{
		when(wants(include, api.CommissionIncludeExplanation), explain),
		embedPartner(wants(expand, api.CommissionExpandPartner),
			func(k *api.Commission) (*string, *nullable.Nullable[api.Partner]) { return &k.PartnerID, &k.Partner }),
		embedCustomer(wants(expand, api.CommissionExpandCustomer),
			func(k *api.Commission) (*string, *nullable.Nullable[api.Customer]) { return k.CustomerID, &k.Customer }),
		embedSale(wants(expand, api.CommissionExpandSale),
			func(k *api.Commission) (*string, *nullable.Nullable[api.Sale]) { return k.SaleID, &k.Sale }),
		embedPayout(wants(expand, api.CommissionExpandPayout),
			func(k *api.Commission) (*string, *nullable.Nullable[api.Payout]) { return k.PayoutID, &k.Payout }),
		embedFlow(wants(expand, api.CommissionExpandFlow),
			func(k *api.Commission) (*string, *nullable.Nullable[api.Flow]) { return k.FlowID, &k.Flow }),
	}
}

// explain adds the explanations of commissions.
func explain(ctx context.Context, tx pgtx.DBTX, orgID string, commissions []api.Commission) error {
	why, err := commission.Explain(ctx, tx, orgID, ids(commissions, func(k *api.Commission) string { return k.ID }))
	for i, k := range commissions {
		e := why[k.ID]
		commissions[i].Explanation = &api.CommissionExplanation{Amount: e.Amount, Partner: opt.OrNil(e.Partner)}
	}
	return err
}

// RetrieveCommission returns one commission.
func (s *Server) RetrieveCommission(ctx context.Context,
	r api.RetrieveCommissionRequestObject) (api.RetrieveCommissionResponseObject, error) {
	u := work.From(ctx)
	row, err := queries.CommissionGet(ctx, u.Short(), db.CommissionGetParams{ID: r.ID, OrgID: u.OrgID})
	out, err := complete(ctx, toCommission(row), row.ProgramID, err, commissionParts(r.Params.Expand, r.Params.Include)...)
	return api.RetrieveCommission200JSONResponse(out), err
}

// ListMaturingCommissions lists the commissions whose mature_at is in a range of days or moments,
// both ends included, oldest first.
func (s *Server) ListMaturingCommissions(ctx context.Context,
	r api.ListMaturingCommissionsRequestObject) (api.ListMaturingCommissionsResponseObject, error) {
	p := r.Params
	from, to, err := window(p.From, p.To)
	if err != nil {
		return nil, err
	}
	q := newQuery(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore)
	out, err := readPage(ctx, q, db.CommissionMaturingList{FromAt: from, ToAt: to, Status: list.Any(p.Status)},
		toCommission, commissionParts(p.Expand, p.Include)...)
	return api.ListMaturingCommissions200JSONResponse(out), err
}

// CreateCommission makes a commission by hand.
// The sale and the customer can be named by the processor's ids.
func (s *Server) CreateCommission(ctx context.Context,
	r api.CreateCommissionRequestObject) (api.CreateCommissionResponseObject, error) {
	b := r.Body
	k, err := commission.Grant(ctx, work.From(ctx), commission.Manual{
		ProgramID: b.ProgramID, PartnerID: b.PartnerID, Reason: b.Reason, SaleID: b.SaleID,
		ExternalChargeID: b.ExternalChargeID, CustomerID: b.CustomerID, ExternalCustomerID: b.ExternalCustomerID,
		AmountMinor: b.AmountMinor, Currency: b.Currency,
	})
	return api.CreateCommission201JSONResponse(toCommission(k)), err
}

// CorrectCommission sets the amount of an unpaid commission.
func (s *Server) CorrectCommission(ctx context.Context,
	r api.CorrectCommissionRequestObject) (api.CorrectCommissionResponseObject, error) {
	k, err := commission.Correct(ctx, work.From(ctx), r.ID, r.Body.AmountMinor, r.Body.Reason)
	return api.CorrectCommission200JSONResponse(toCommission(k)), err
}

// ApproveCommission approves a pending commission. A commission whose holding period has ended is
// due at once. Any other state is a 409.
func (s *Server) ApproveCommission(ctx context.Context,
	r api.ApproveCommissionRequestObject) (api.ApproveCommissionResponseObject, error) {
	var reason *string
	if r.Body != nil {
		reason = r.Body.Reason
	}
	k, err := commission.Approve(ctx, work.From(ctx), r.ID, reason)
	return api.ApproveCommission200JSONResponse(toCommission(k)), err
}

// RejectCommission rejects an unpaid commission permanently, and removes it from an open payout. A
// commission in a payout in flight is a 409.
func (s *Server) RejectCommission(ctx context.Context,
	r api.RejectCommissionRequestObject) (api.RejectCommissionResponseObject, error) {
	k, err := commission.Reject(ctx, work.From(ctx), r.ID, r.Body.Reason)
	return api.RejectCommission200JSONResponse(toCommission(k)), err
}
