package handlers

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/clock"
	"rail/server/list"
	"rail/server/money/sale"
	"rail/server/problem"
	"rail/server/program/customer"
	"rail/server/program/tracking"
	"rail/server/work"
)

// ListSales lists the sales of a program, by the time of recording, newest first.
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
	// nil for both; a partly refunded sale does not count as refunded.
	var refunded *bool
	if p.Refunded != nil {
		refunded = new(*p.Refunded == api.SaleRefundedFilterTrue)
	}
	// The customer may be named by the processor's id instead of Rail's.
	customer, err := u.Customer(ctx, p.ProgramID, p.CustomerID, p.ExternalCustomerID)
	if err != nil {
		return nil, err
	}
	since, until, err := created(p.CreatedAfter, p.CreatedBefore)
	if err != nil {
		return nil, err
	}
	rows, err := list.Of(ctx, u, list.In(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore), db.SaleList{
		PartnerID: p.PartnerID, CustomerID: customer, ExternalChargeID: p.ExternalChargeID,
		OccurredAfter: after, OccurredBefore: before, Refunded: refunded,
		CreatedAfter: since, CreatedBefore: until,
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

// dateFilter parses a filter: an ISO date, which is its midnight in UTC, or a date-time (decisions,
// 29).
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

// fillSales adds the relations that the query requests, in one round trip.
func fillSales(ctx context.Context, u *work.Unit, sales []api.Sale, expand []api.SaleExpand) error {
	return together(ctx, u,
		embedPartner(ctx, u, wants(expand, api.SaleExpandPartner), sales,
			func(k *api.Sale) (*string, *nullable.Nullable[api.Partner]) { return k.PartnerID, &k.Partner }),
		embedCustomer(ctx, u, wants(expand, api.SaleExpandCustomer), sales,
			func(k *api.Sale) (*string, *nullable.Nullable[api.Customer]) { return &k.CustomerID, &k.Customer }))
}

// RetrieveSale returns one sale, without the outcome and warnings of its recording.
func (s *Server) RetrieveSale(ctx context.Context,
	r api.RetrieveSaleRequestObject) (api.RetrieveSaleResponseObject, error) {
	u := work.From(ctx)
	row, err := queries.SaleGet(ctx, u.Short(), db.SaleGetParams{ID: r.ID, OrgID: u.OrgID})
	if err != nil {
		return nil, err
	}
	if err := u.CheckProgram(row.ProgramID); err != nil {
		return nil, err
	}
	one := []api.Sale{toSale(row)}
	err = fillSales(ctx, u, one, r.Params.Expand)
	return api.RetrieveSale200JSONResponse(one[0]), err
}

// CreateSale records a payment: 201 for a new sale, 200 with the stored one for a known charge. For
// a new customer, the body names the partner. A stored sale that differs from the payment is
// returned with a warning.
func (s *Server) CreateSale(ctx context.Context, r api.CreateSaleRequestObject) (api.CreateSaleResponseObject, error) {
	b := r.Body
	out, err := s.Sales.Record(ctx, work.From(ctx), sale.Payment{
		ProgramID:        b.ProgramID,
		ExternalChargeID: b.ExternalChargeID,
		Processor:        "api",
		AmountMinor:      b.AmountMinor,
		TaxMinor:         b.TaxMinor,
		FeeMinor:         b.FeeMinor,
		Currency:         b.Currency,
		BillingType:      (*string)(b.BillingType),
		Interval:         (*string)(b.Interval),
		ProductID:        b.ProductID,
		ProductName:      b.ProductName,
		OccurredAt:       b.OccurredAt,
		Metadata:         b.Metadata,
		Payer: customer.Payer{
			CustomerID: b.CustomerID, ExternalCustomerID: b.ExternalCustomerID,
			Route: tracking.Route{PartnerID: b.PartnerID, ClickID: b.ClickID, CouponCode: b.CouponCode},
		},
	})
	if err != nil {
		return nil, err
	}
	recorded, err := toRecordedSale(out)
	if err != nil {
		return nil, err
	}
	if out.Repeated {
		return api.CreateSale200JSONResponse(recorded), nil
	}
	return api.CreateSale201JSONResponse(recorded), nil
}

// differs returns the warning that a repeated call has other values than the first, with the names
// of the different members.
func differs(what string, members []string) string {
	return "The " + what + " was recorded before with other values, which stay: " + strings.Join(members, ", ") + "."
}

// toRecordedSale converts a sale with its outcome.
func toRecordedSale(out sale.Outcome) (api.RecordedSale, error) {
	s := toSale(out.Sale)
	recorded := api.RecordedSale{
		ID:                      s.ID,
		Object:                  s.Object,
		ProgramID:               s.ProgramID,
		CustomerID:              s.CustomerID,
		PartnerID:               s.PartnerID,
		ExternalChargeID:        s.ExternalChargeID,
		ExternalPaymentIntentID: s.ExternalPaymentIntentID,
		Processor:               s.Processor,
		AmountMinor:             s.AmountMinor,
		ChargedMinor:            s.ChargedMinor,
		RefundedMinor:           s.RefundedMinor,
		TaxMinor:                s.TaxMinor,
		FeeMinor:                s.FeeMinor,
		Currency:                s.Currency,
		BillingType:             s.BillingType,
		Interval:                s.Interval,
		ProductID:               s.ProductID,
		ProductName:             s.ProductName,
		IsFirstSale:             s.IsFirstSale,
		OccurredAt:              s.OccurredAt,
		RefundedAt:              s.RefundedAt,
		Metadata:                s.Metadata,
		ActivityOutcome:         api.SaleActivityOutcome(out.Sale.ActivityOutcome),
		Warnings:                []api.SaleWarning{},
		CreatedAt:               s.CreatedAt,
		UpdatedAt:               s.UpdatedAt,
	}
	// They are stored in the JSON form of the API.
	if err := json.Unmarshal(out.Sale.Warnings, &recorded.Warnings); err != nil {
		return recorded, err
	}
	if len(out.Differs) > 0 {
		recorded.Warnings = append(recorded.Warnings, api.SaleWarning{
			Code: api.SaleWarningCodeDiffersFromRecorded, Message: differs("charge", out.Differs),
		})
	}
	return recorded, nil
}
