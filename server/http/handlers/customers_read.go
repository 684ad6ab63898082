package handlers

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// ListCustomers lists the customers of a program, newest first.
func (s *Server) ListCustomers(ctx context.Context, r api.ListCustomersRequestObject) (api.ListCustomersResponseObject, error) {
	u, p := work.From(ctx), r.Params
	org := u.OrgID
	status, statusIn := choices(p.Status)
	email := lower(p.Email)
	tallied := email == nil && p.ExternalCustomerID == nil
	rows, err := list(ctx, u, paging{
		programID: p.ProgramID, limit: p.Limit, startingAfter: p.StartingAfter, endingBefore: p.EndingBefore,
		refs: []work.Reference{work.PartnerRef("partner_id", p.PartnerID)},
	}, lister[position, db.Customer]{
		cursor: func(ctx context.Context, tx pgtx.DBTX, id string) (position, error) {
			row, err := queries.CustomerCursor(ctx, tx, db.CustomerCursorParams{ID: id, ProgramID: p.ProgramID, OrgID: org, PartnerID: p.PartnerID})
			return position{row.CreatedAt, row.ID}, err
		},
		page: byTime(func(ctx context.Context, tx pgtx.DBTX, b bounds) ([]db.Customer, error) {
			return queries.CustomerPage(ctx, tx, db.CustomerPageParams{
				ProgramID: p.ProgramID, OrgID: org, PartnerID: p.PartnerID, Status: status, StatusIn: statusIn, Email: email,
				ExternalCustomerID: p.ExternalCustomerID,
				AfterAt:            b.afterAt, AfterID: b.afterID, BeforeAt: b.beforeAt, BeforeID: b.beforeID, Lim: b.lim,
			})
		}),
		count: func(ctx context.Context, tx pgtx.DBTX) (int64, error) {
			return queries.CustomerCount(ctx, tx, db.CustomerCountParams{
				ProgramID: p.ProgramID, OrgID: org, PartnerID: p.PartnerID, Status: status, StatusIn: statusIn, Email: email,
				ExternalCustomerID: p.ExternalCustomerID, Most: atMost(tallied),
			})
		},
		total: when(tallied, rowsOf{"customers", p.ProgramID, org, p.PartnerID, either(status, statusIn), nil}.count),
	})
	if err != nil {
		return nil, err
	}
	data := mapped(rows.rows, toCustomer)
	if err := s.fillCustomers(ctx, u, data, p.Expand); err != nil {
		return nil, err
	}
	return api.ListCustomers200JSONResponse{Data: data, HasMore: rows.hasMore, TotalCount: rows.total}, nil
}

func (s *Server) fillCustomers(ctx context.Context, u *work.Unit, customers []api.Customer, expand []api.CustomerExpand) error {
	return together(ctx, u,
		embedPartner(ctx, u, wants(expand, api.CustomerExpandPartner), customers, func(k *api.Customer) (*string, *nullable.Nullable[api.Partner]) { return k.PartnerID, &k.Partner }),
		embedReferral(ctx, u, wants(expand, api.CustomerExpandReferral), customers, func(k *api.Customer) (*string, *nullable.Nullable[api.Referral]) { return k.ReferralID, &k.Referral }),
		embedLink(ctx, s, u, wants(expand, api.CustomerExpandLink), customers, func(k *api.Customer) (*string, *nullable.Nullable[api.Link]) { return k.LinkID, &k.Link }))
}

// RetrieveCustomer returns one customer.
func (s *Server) RetrieveCustomer(ctx context.Context, r api.RetrieveCustomerRequestObject) (api.RetrieveCustomerResponseObject, error) {
	u := work.From(ctx)
	customer, err := queries.CustomerGet(ctx, u.DB(), db.CustomerGetParams{ID: r.ID, OrgID: u.OrgID})
	if err != nil {
		return nil, err
	}
	if err := u.CheckProgram(customer.ProgramID); err != nil {
		return nil, err
	}
	one := []api.Customer{toCustomer(customer)}
	err = s.fillCustomers(ctx, u, one, r.Params.Expand)
	return api.RetrieveCustomer200JSONResponse(one[0]), err
}
