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

// AttachExternalID attaches an id at a payment processor: 201 for a new id, 200 for one of the
// customer.
func (s *Server) AttachExternalID(ctx context.Context,
	r api.AttachExternalIDRequestObject) (api.AttachExternalIDResponseObject, error) {
	k, fresh, err := customer.Attach(ctx, work.From(ctx), r.ID, r.Body.ExternalCustomerID, (*string)(r.Body.Processor))
	out, err := complete(ctx, toCustomer(k), k.ProgramID, err, addExternalIDs)
	if fresh {
		return api.AttachExternalID201JSONResponse(out), err
	}
	return api.AttachExternalID200JSONResponse(out), err
}

// DetachExternalID detaches an id from a customer. Recorded sales are not affected.
func (s *Server) DetachExternalID(ctx context.Context,
	r api.DetachExternalIDRequestObject) (api.DetachExternalIDResponseObject, error) {
	k, err := customer.Detach(ctx, work.From(ctx), r.ID, r.ExternalCustomerID)
	out, err := complete(ctx, toCustomer(k), k.ProgramID, err, addExternalIDs)
	return api.DetachExternalID200JSONResponse(out), err
}

// MergeCustomer merges another customer into one. A dry run changes nothing.
func (s *Server) MergeCustomer(ctx context.Context,
	r api.MergeCustomerRequestObject) (api.MergeCustomerResponseObject, error) {
	b := r.Body
	m, err := s.Sales.Merge(ctx, work.From(ctx), sale.Merge{
		IntoID: r.ID, FromID: b.CustomerID, PartnerID: b.PartnerID, DryRun: opt.Value(b.DryRun),
	})
	if err != nil {
		return nil, err
	}
	out := api.CustomerMerged{
		Object: "customer_merge", Customer: toCustomer(m.Customer), MergedCustomerID: m.FromID,
		Sales: int64(m.Sales), Commissions: mapped(m.Commissions, toMergedCommission), DryRun: opt.Value(b.DryRun),
	}
	out.Customer.ExternalIds = new(mapped(m.IDs, toExternalID))
	return api.MergeCustomer200JSONResponse(out), nil
}

func toMergedCommission(k sale.RedecidedCommission) api.MergedCommission {
	return api.MergedCommission{
		SaleID: k.SaleID, CommissionID: k.CommissionID, BeforeMinor: k.Before, AfterMinor: k.After, Currency: k.Currency,
	}
}

// CreditCustomer gives a customer and its past sales to a partner. A dry run changes
// nothing.
func (s *Server) CreditCustomer(ctx context.Context,
	r api.CreditCustomerRequestObject) (api.CreditCustomerResponseObject, error) {
	b := r.Body
	c, err := s.Sales.Credit(ctx, work.From(ctx), sale.Credit{
		CustomerID: r.ID, PartnerID: b.PartnerID, Since: b.Since, DryRun: opt.Value(b.DryRun),
	})
	if err != nil {
		return nil, err
	}
	out := api.Credit{
		Object: "credit", CustomerID: c.CustomerID, PartnerID: c.PartnerID, Sales: mapped(c.Sales, toCreditedSale),
		AmountMinor: c.AmountMinor, Currency: c.Currency, DryRun: opt.Value(b.DryRun),
	}
	return api.CreditCustomer200JSONResponse(out), nil
}

func toCreditedSale(k sale.CreditedSale) api.CreditedSale {
	return api.CreditedSale{
		SaleID: k.Sale.ID, CommissionID: k.CommissionID, AmountMinor: k.AmountMinor, Currency: k.Currency,
		Reason: opt.OrNil(k.Reason),
	}
}
