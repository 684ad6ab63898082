package handlers

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/money/sale"
	"rail/server/opt"
	"rail/server/program/rehearsal"
	"rail/server/work"
)

// ListSales lists the sales of a program, by the time of recording, newest first.
func (s *Server) ListSales(ctx context.Context, r api.ListSalesRequestObject) (api.ListSalesResponseObject, error) {
	p := r.Params
	q := newQuery(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore)
	after, before := q.date("occurred_after", p.OccurredAfter), q.date("occurred_before", p.OccurredBefore)
	if q.err != nil {
		return nil, q.err
	}
	// nil for both; a partly refunded sale does not count as refunded.
	var refunded *bool
	if p.Refunded != nil {
		refunded = new(*p.Refunded == api.SaleRefundedFilterTrue)
	}
	// The customer may be named by the processor's id instead of Rail's.
	customer, err := work.From(ctx).Customer(ctx, p.ProgramID, p.CustomerID, p.ExternalCustomerID)
	if err != nil {
		return nil, err
	}
	out, err := readPage(ctx, q, db.SaleList{
		PartnerID: p.PartnerID, CustomerID: customer, ExternalChargeID: p.ExternalChargeID,
		OccurredAfter: after, OccurredBefore: before, Refunded: refunded,
		CreatedAfter: q.date("created_after", p.CreatedAfter), CreatedBefore: q.date("created_before", p.CreatedBefore),
	}, toSale, saleParts(p.Expand)...)
	return api.ListSales200JSONResponse(out), err
}

func saleParts(expand []api.SaleExpand) []part[api.Sale] {
	return []part[api.Sale]{
		embedPartner(wants(expand, api.SaleExpandPartner),
			func(k *api.Sale) (*string, *nullable.Nullable[api.Partner]) { return k.PartnerID, &k.Partner }),
		embedCustomer(wants(expand, api.SaleExpandCustomer),
			func(k *api.Sale) (*string, *nullable.Nullable[api.Customer]) { return &k.CustomerID, &k.Customer }),
	}
}

// RetrieveSale returns one sale, without the outcome and warnings of its recording.
func (s *Server) RetrieveSale(ctx context.Context,
	r api.RetrieveSaleRequestObject) (api.RetrieveSaleResponseObject, error) {
	u := work.From(ctx)
	row, err := queries.SaleGet(ctx, u.Short(), db.SaleGetParams{ID: r.ID, OrgID: u.OrgID})
	out, err := complete(ctx, toSale(row), row.ProgramID, err, saleParts(r.Params.Expand)...)
	return api.RetrieveSale200JSONResponse(out), err
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
		Payer: sale.Payer{
			CustomerID: b.CustomerID, ExternalCustomerID: b.ExternalCustomerID,
			PartnerID: b.PartnerID, ClickID: b.ClickID, CouponCode: b.CouponCode,
			Claim: sale.Claim{Affiliate: b.AffiliateAttribution, Parameters: opt.Value(b.Attribution)},
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

// RehearseSale records a purchase from the click to its commission, and rolls it back.
func (s *Server) RehearseSale(ctx context.Context,
	r api.RehearseSaleRequestObject) (api.RehearseSaleResponseObject, error) {
	b := r.Body
	by := rehearsal.Service{Tracking: s.Tracking, Customers: s.Customers, Sales: s.Sales}
	done, err := by.Rehearse(ctx, work.From(ctx), rehearsal.Purchase{
		Value: b.Value, CouponCode: b.CouponCode, Email: b.Email,
		Payment: sale.Payment{
			ProgramID: b.ProgramID, AmountMinor: b.AmountMinor, Currency: b.Currency, Interval: (*string)(b.Interval),
			ProductID: b.ProductID, ProductName: b.ProductName,
		},
	})
	if err != nil {
		return nil, err
	}
	out, err := toSaleRehearsal(b.ProgramID, done)
	return api.RehearseSale200JSONResponse(out), err
}

// toSaleRehearsal converts the steps of a rehearsed purchase.
func toSaleRehearsal(program string, r rehearsal.Result) (api.SaleRehearsal, error) {
	out := api.SaleRehearsal{
		Object: "sale_rehearsal", ProgramID: program, EventTypes: append([]string{}, r.EventTypes...),
		Commissions: mapped(r.Commissions, func(k db.Commission) api.Commission {
			c, why := toCommission(k), r.Why[k.ID]
			c.Explanation = &api.CommissionExplanation{Amount: why.Amount, Partner: opt.OrNil(why.Partner)}
			return c
		}),
	}
	for _, k := range r.Commissions {
		if k.SaleID != nil {
			out.RateType, out.RateValue = (*api.RateType)(k.RateType), k.RateValue
		}
	}
	if r.Click != nil {
		out.Click = new(toClick(*r.Click))
	}
	if r.Customer != nil {
		out.Customer = new(toCustomer(*r.Customer))
	}
	if p := r.Refused; p != nil {
		out.Refused = &api.SaleRehearsalRefusal{
			Step: api.SaleRehearsalRefusalStep(p.Step), Code: api.ErrorCode(p.Reason.Code), Message: p.Reason.Message,
		}
	}
	if r.Sale == nil {
		return out, nil
	}
	recorded, err := toRecordedSale(*r.Sale)
	out.Sale = &recorded
	return out, err
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
		AttributionResult:       toAttributionResult(out.Claim),
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
