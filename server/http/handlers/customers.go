package handlers

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/list"
	"rail/server/money/sale"
	"rail/server/opt"
	"rail/server/program/customer"
	"rail/server/program/tracking"
	"rail/server/work"
)

// ListCustomers lists the customers of a program, newest first.
// An email is compared in lower case.
func (s *Server) ListCustomers(ctx context.Context,
	r api.ListCustomersRequestObject) (api.ListCustomersResponseObject, error) {
	p := r.Params
	q := newQuery(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore)
	out, err := readPage(ctx, q, db.CustomerList{
		PartnerID:          p.PartnerID,
		Status:             list.Any(p.Status),
		Email:              opt.Lower(p.Email),
		ExternalCustomerID: p.ExternalCustomerID,
		Identifier:         p.Identifier,
		HasDuplicates:      (*bool)(p.HasDuplicates),
		CreatedAfter:       q.date("created_after", p.CreatedAfter),
		CreatedBefore:      q.date("created_before", p.CreatedBefore),
	}, toCustomer, s.customerParts(p.Expand, p.Include)...)
	return api.ListCustomers200JSONResponse(out), err
}

func (s *Server) customerParts(expand []api.CustomerExpand, include []api.CustomerInclude) []part[api.Customer] {
	return []part[api.Customer]{
		when(wants(include, api.CustomerIncludeExternalIds), addExternalIDs),
		when(wants(include, api.CustomerIncludeDuplicates), addDuplicates),
		when(wants(include, api.CustomerIncludeAttributionClaims), addAttributionClaims),
		embedPartner(wants(expand, api.CustomerExpandPartner),
			func(k *api.Customer) (*string, *nullable.Nullable[api.Partner]) { return k.PartnerID, &k.Partner }),
		embedReferral(wants(expand, api.CustomerExpandReferral),
			func(k *api.Customer) (*string, *nullable.Nullable[api.Referral]) { return k.ReferralID, &k.Referral }),
		embedLink(s, wants(expand, api.CustomerExpandLink),
			func(k *api.Customer) (*string, *nullable.Nullable[api.Link]) { return k.LinkID, &k.Link }),
	}
}

// RetrieveCustomer returns one customer.
func (s *Server) RetrieveCustomer(ctx context.Context,
	r api.RetrieveCustomerRequestObject) (api.RetrieveCustomerResponseObject, error) {
	u := work.From(ctx)
	row, err := queries.CustomerGet(ctx, u.Short(), db.CustomerGetParams{ID: r.ID, OrgID: u.OrgID})
	if errors.Is(err, pgx.ErrNoRows) { // the id may be that of a merged customer
		row, err = queries.CustomerSurvivor(ctx, u.DB(), db.CustomerSurvivorParams{ID: r.ID, OrgID: u.OrgID})
	}
	out, err := complete(ctx, toCustomer(row), row.ProgramID, err, s.customerParts(r.Params.Expand, r.Params.Include)...)
	return api.RetrieveCustomer200JSONResponse(out), err
}

// CreateCustomer attributes a customer to a partner: the given one, or that of a click, of a coupon or of an AI
// assistant's claim. A used external id is a 409 with its customer.
func (s *Server) CreateCustomer(ctx context.Context,
	r api.CreateCustomerRequestObject) (api.CreateCustomerResponseObject, error) {
	b := r.Body
	result, err := s.Customers.CreateCompared(ctx, work.From(ctx), customer.Input{
		ProgramID:          b.ProgramID,
		ExternalCustomerID: b.ExternalCustomerID,
		Email:              b.Email,
		Name:               b.Name,
		Identifier:         b.Identifier,
		Status:             (*string)(b.Status),
		Metadata:           b.Metadata,
		Route:              tracking.Route{PartnerID: b.PartnerID, ClickID: b.ClickID, CouponCode: b.CouponCode},
		Claim:              sale.Claim{Affiliate: b.AffiliateAttribution, Parameters: opt.Value(b.Attribution)},
	})
	out := toCustomer(result.Customer)
	out.AttributionResult = toAttributionResult(result.Claim)
	for _, d := range result.Others {
		out.Warnings = append(out.Warnings, toCustomerWarning(d))
	}
	return api.CreateCustomer201JSONResponse(out), err
}

// toCustomerWarning returns the warning about a field that two customers have in common.
func toCustomerWarning(d customer.Duplicate) api.CustomerWarning {
	code, field := api.CustomerWarningCodeEmailTaken, "email"
	if d.Match == "identifier" {
		code, field = api.CustomerWarningCodeIdentifierTaken, "identifier"
	}
	return api.CustomerWarning{
		Code: code, CustomerID: d.CustomerID,
		Message: "Customer " + d.CustomerID + " has the same " + field + ". Merge the two if they are one person.",
	}
}

// UpdateCustomer changes a customer; a new partner_id reassigns it. Earlier sales and commissions
// remain with the former partner.
func (s *Server) UpdateCustomer(ctx context.Context,
	r api.UpdateCustomerRequestObject) (api.UpdateCustomerResponseObject, error) {
	b := r.Body
	k, err := s.Customers.Update(ctx, work.From(ctx), r.ID, customer.Changes{
		PartnerID:  b.PartnerID,
		Status:     (*string)(b.Status),
		Email:      b.Email,
		Name:       b.Name,
		Identifier: b.Identifier,
		Metadata:   b.Metadata,
	})
	return api.UpdateCustomer200JSONResponse(toCustomer(k)), err
}

// DeleteCustomer removes a customer that never paid. A customer with sales or a paid sign-up
// commission is a 409.
func (s *Server) DeleteCustomer(ctx context.Context,
	r api.DeleteCustomerRequestObject) (api.DeleteCustomerResponseObject, error) {
	err := customer.Delete(ctx, work.From(ctx), r.ID)
	return api.DeleteCustomer200JSONResponse{ID: r.ID, Object: "customer", Deleted: true}, err
}
