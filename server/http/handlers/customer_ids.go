package handlers

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/money/sale"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/program/customer"
	"rail/server/work"
)

// addExternalIDs adds their ids at processors to customers.
func addExternalIDs(ctx context.Context, tx pgtx.DBTX, orgID string, customers []api.Customer) error {
	rows, err := queries.ExternalIDs(ctx, tx, db.ExternalIDsParams{CustomerIds: customerIDs(customers), OrgID: orgID})
	for i := range customers {
		all := []api.CustomerExternalID{}
		for _, r := range rows {
			if r.CustomerID == customers[i].ID {
				all = append(all, toExternalID(r))
			}
		}
		customers[i].ExternalIds = &all
	}
	return err
}

// addDuplicates adds their probable duplicates to customers.
func addDuplicates(ctx context.Context, tx pgtx.DBTX, orgID string, customers []api.Customer) error {
	rows, err := queries.Duplicates(ctx, tx, db.DuplicatesParams{CustomerIds: customerIDs(customers), OrgID: orgID})
	for i := range customers {
		all := []api.CustomerDuplicate{}
		for _, r := range rows {
			if r.CustomerID == customers[i].ID {
				all = append(all, api.CustomerDuplicate{CustomerID: r.OtherID, Match: api.CustomerMatch(r.Match)})
			}
		}
		customers[i].Duplicates = &all
	}
	return err
}

func customerIDs(customers []api.Customer) []string {
	return ids(customers, func(k *api.Customer) string { return k.ID })
}

func toExternalID(r db.CustomerExternalID) api.CustomerExternalID {
	return api.CustomerExternalID{
		Processor: (*api.Processor)(r.Processor), ExternalCustomerID: r.ExternalCustomerID, CreatedAt: r.CreatedAt,
	}
}

// withIDs shows a customer with its ids at processors.
func withIDs(ctx context.Context, u *work.Unit, k db.Customer) (api.Customer, error) {
	one := []api.Customer{toCustomer(k)}
	err := addExternalIDs(ctx, u.DB(), u.OrgID, one)
	return one[0], err
}

// AttachExternalID attaches an id at a payment processor: 201 for a new id, 200 for one of the
// customer.
func (s *Server) AttachExternalID(
	ctx context.Context, r api.AttachExternalIDRequestObject,
) (api.AttachExternalIDResponseObject, error) {
	u := work.From(ctx)
	k, fresh, err := customer.Attach(ctx, u, r.ID, r.Body.ExternalCustomerID, (*string)(r.Body.Processor))
	if err != nil {
		return nil, err
	}
	out, err := withIDs(ctx, u, k)
	if fresh {
		return api.AttachExternalID201JSONResponse(out), err
	}
	return api.AttachExternalID200JSONResponse(out), err
}

// DetachExternalID detaches an id from a customer. Recorded sales are not affected.
func (s *Server) DetachExternalID(
	ctx context.Context, r api.DetachExternalIDRequestObject,
) (api.DetachExternalIDResponseObject, error) {
	u := work.From(ctx)
	k, err := customer.Detach(ctx, u, r.ID, r.ExternalCustomerID)
	if err != nil {
		return nil, err
	}
	out, err := withIDs(ctx, u, k)
	return api.DetachExternalID200JSONResponse(out), err
}

// MergeCustomer merges another customer into one. A dry run changes nothing.
func (s *Server) MergeCustomer(
	ctx context.Context, r api.MergeCustomerRequestObject,
) (api.MergeCustomerResponseObject, error) {
	b := r.Body
	m, err := s.Sales.Merge(ctx, work.From(ctx), sale.Merge{
		IntoID: r.ID, FromID: b.CustomerID, PartnerID: b.PartnerID, DryRun: opt.Value(b.DryRun),
	})
	if err != nil {
		return nil, err
	}
	out := api.CustomerMerged{
		Object: "customer_merge", Customer: toCustomer(m.Customer), MergedCustomerID: m.FromID,
		Sales: int64(m.Sales), Commissions: []api.MergedCommission{}, DryRun: opt.Value(b.DryRun),
	}
	out.Customer.ExternalIds = new(mapped(m.IDs, toExternalID))
	for _, k := range m.Commissions {
		out.Commissions = append(out.Commissions, api.MergedCommission{
			SaleID: k.SaleID, CommissionID: k.CommissionID, BeforeMinor: k.Before, AfterMinor: k.After, Currency: k.Currency,
		})
	}
	return api.MergeCustomer200JSONResponse(out), nil
}

// CreditCustomer gives a customer and its past sales to a partner. A dry run changes
// nothing.
func (s *Server) CreditCustomer(
	ctx context.Context, r api.CreditCustomerRequestObject,
) (api.CreditCustomerResponseObject, error) {
	b := r.Body
	c, err := s.Sales.Credit(ctx, work.From(ctx), sale.Credit{
		CustomerID: r.ID, PartnerID: b.PartnerID, Since: b.Since, DryRun: opt.Value(b.DryRun),
	})
	if err != nil {
		return nil, err
	}
	out := api.Credit{
		Object: "credit", CustomerID: c.CustomerID, PartnerID: c.PartnerID, Sales: []api.CreditedSale{},
		AmountMinor: c.AmountMinor, Currency: c.Currency, DryRun: opt.Value(b.DryRun),
	}
	for _, one := range c.Sales {
		out.Sales = append(out.Sales, api.CreditedSale{
			SaleID:       one.Sale.ID,
			CommissionID: one.CommissionID,
			AmountMinor:  one.AmountMinor,
			Currency:     one.Currency,
			Reason:       opt.OrNil(one.Reason),
		})
	}
	return api.CreditCustomer200JSONResponse(out), nil
}
