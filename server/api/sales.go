package api

import (
	"context"
	"encoding/json"
	"time"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/call"
	"rail/server/clock"
	"rail/server/earn"
	"rail/server/problem"
	"rail/server/rules"
)

// ahead is how far in the future a sale may have occurred: clocks differ
// (decisions, 90).
const ahead = 5 * time.Minute

// CreateSale records a payment: 201 for a new sale, 200 with the stored one for
// a charge that is known (specification, Rules for POST /v1/sales).
func (s *Server) CreateSale(ctx context.Context, r api.CreateSaleRequestObject) (api.CreateSaleResponseObject, error) {
	c := call.From(ctx)
	payment, err := toPayment(r.Body, c.Now)
	if err != nil {
		return nil, err
	}
	out, err := earn.Record(ctx, c, payment)
	if err != nil {
		return nil, err
	}
	sale, err := toOutcome(out.Sale)
	if err != nil {
		return nil, err
	}
	if out.Repeated {
		return api.CreateSale200JSONResponse(sale), nil
	}
	return api.CreateSale201JSONResponse(sale), nil
}

// toOutcome is a sale with what followed from it.
func toOutcome(row db.Sale) (api.Sale, error) {
	sale := toSale(row)
	sale.ActivityOutcome = ptr(api.SaleActivityOutcome(row.ActivityOutcome))
	warnings := []api.SaleWarning{}
	if err := json.Unmarshal(row.Warnings, &warnings); err != nil {
		return sale, err
	}
	sale.Warnings = &warnings
	return sale, nil
}

// toPayment judges what the document cannot say of a body.
func toPayment(b *api.SaleCreate, now clock.Time) (earn.Payment, error) {
	currency, err := currencyOf(b.Currency)
	if err != nil {
		return earn.Payment{}, err
	}
	if b.TaxMinor != nil && *b.TaxMinor > b.AmountMinor {
		return earn.Payment{}, problem.Invalid("tax_minor", "tax_minor must be at most amount_minor.")
	}
	occurred := now
	if b.OccurredAt != nil {
		occurred = *b.OccurredAt
	}
	if occurred.After(now.Add(ahead)) {
		return earn.Payment{}, problem.Invalid("occurred_at", "occurred_at lies in the future.")
	}
	billing, err := billingOf(b)
	if err != nil {
		return earn.Payment{}, err
	}
	if p := checkMetadata(b.Metadata, "metadata"); p != nil {
		return earn.Payment{}, p
	}
	return earn.Payment{
		ProgramID: b.ProgramID, CustomerID: b.CustomerID, ExternalChargeID: b.ExternalChargeID, Processor: "api", AmountMinor: b.AmountMinor,
		TaxMinor: b.TaxMinor, Currency: currency, BillingType: string(billing), Interval: (*string)(b.Interval), ProductID: b.ProductID,
		ProductName: b.ProductName, OccurredAt: occurred, Metadata: storedMetadata(b.Metadata),
	}, nil
}

func currencyOf(given string) (string, error) {
	currency, ok := rules.NormalCurrency(given)
	if !ok {
		return "", problem.Invalid("currency", "currency must be an ISO 4217 code such as USD.")
	}
	return currency, nil
}

// billingOf derives the billing type: an interval makes a subscription.
func billingOf(b *api.SaleCreate) (api.BillingType, error) {
	switch {
	case b.BillingType == nil && b.Interval != nil:
		return api.BillingTypeSubscription, nil
	case b.BillingType == nil:
		return api.BillingTypeOneTime, nil
	case *b.BillingType == api.BillingTypeOneTime && b.Interval != nil:
		return "", problem.Invalid("interval", "interval needs billing_type subscription.")
	}
	return *b.BillingType, nil
}

// RefundSale refunds a sale as a whole or, with amount_minor, in part. A second
// whole refund answers the first one's time and did nothing (decisions, 97).
func (s *Server) RefundSale(ctx context.Context, r api.RefundSaleRequestObject) (api.RefundSaleResponseObject, error) {
	c := call.From(ctx)
	body := api.SaleRefund{}
	if r.Body != nil {
		body = *r.Body
	}
	done, err := earn.GiveBack(ctx, c, earn.Refund{SaleID: r.ID, AmountMinor: body.AmountMinor, At: body.RefundedAt})
	if err != nil {
		return nil, err
	}
	if done.Sale.RefundedAt == nil { // this call did something
		before := map[string]int64{"amount_minor": done.Sale.AmountMinor}
		after := map[string]any{"voided_commissions": done.Voided, "clawback_minor": done.ClawbackMinor, "refunded_at": done.At}
		err = audit(ctx, c, entry{programID: done.Sale.ProgramID, action: "sale.refunded", targetID: r.ID, reason: body.Reason, before: before, after: after})
	}
	return api.RefundSale200JSONResponse{
		Object: "refund", SaleID: r.ID, VoidedCommissions: done.Voided, ClawbackMinor: done.ClawbackMinor, Currency: done.Sale.Currency, RefundedAt: done.At,
	}, err
}
