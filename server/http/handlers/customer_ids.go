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

// includeExternalIDs returns the read that adds their ids at processors to customers.
func includeExternalIDs(ctx context.Context, u *work.Unit, wanted bool, customers []api.Customer) pgtx.Read {
	return func(tx pgtx.DBTX) error {
		if !wanted {
			return nil
		}
		rows, err := queries.ExternalIDs(ctx, tx, db.ExternalIDsParams{CustomerIds: idsOf(customers), OrgID: u.OrgID})
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
}

// includeDuplicates returns the read that adds their probable duplicates to customers.
func includeDuplicates(ctx context.Context, u *work.Unit, wanted bool, customers []api.Customer) pgtx.Read {
	return func(tx pgtx.DBTX) error {
		if !wanted {
			return nil
		}
		rows, err := queries.Duplicates(ctx, tx, db.DuplicatesParams{CustomerIds: idsOf(customers), OrgID: u.OrgID})
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
}

func toExternalID(r db.CustomerExternalID) api.CustomerExternalID {
	return api.CustomerExternalID{
		Processor: (*api.Processor)(r.Processor), ExternalCustomerID: r.ExternalCustomerID, CreatedAt: r.CreatedAt,
	}
}

func idsOf(customers []api.Customer) []string {
	ids := make([]string, len(customers))
	for i, k := range customers {
		ids[i] = k.ID
	}
	return ids
}

// withIDs shows a customer with its ids at processors.
func withIDs(ctx context.Context, u *work.Unit, k db.Customer) (api.Customer, error) {
	one := []api.Customer{toCustomer(k)}
	err := includeExternalIDs(ctx, u, true, one)(u.DB())
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
	ids := make([]api.CustomerExternalID, len(m.IDs))
	for i, id := range m.IDs {
		ids[i] = toExternalID(id)
	}
	out.Customer.ExternalIds = &ids
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
