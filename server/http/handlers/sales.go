package handlers

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"rail/gen/api"
	"rail/server/clock"
	"rail/server/currency"
	"rail/server/metadata"
	"rail/server/money/commission"
	"rail/server/problem"
	"rail/server/work"
)

// ahead is how far in the future a sale may have occurred: clocks differ
// (decisions, 90).
const ahead = 5 * time.Minute

// CreateSale records a payment: 201 for a new sale, 200 with the stored one for
// a charge that is known, so that a caller who is not sure may send it again.
func (s *Server) CreateSale(ctx context.Context, r api.CreateSaleRequestObject) (api.CreateSaleResponseObject, error) {
	u := work.From(ctx)
	payment, err := toPayment(r.Body, u.Now)
	if err != nil {
		return nil, err
	}
	if payment.CustomerID, err = s.payer(ctx, u, r.Body); err != nil {
		return nil, err
	}
	out, err := commission.Record(ctx, u, payment)
	if err != nil {
		return nil, err
	}
	for _, refund := range out.Refunds {
		if err := auditRefund(ctx, u, refund); err != nil {
			return nil, err
		}
	}
	sale, err := toRecordedSale(out)
	if err != nil {
		return nil, err
	}
	if out.Repeated {
		return api.CreateSale200JSONResponse(sale), nil
	}
	return api.CreateSale201JSONResponse(sale), nil
}

// differs says what a repeat told otherwise than the first time.
func differs(what string, members []string) string {
	return "The " + what + " was recorded before with other values, which stay: " + strings.Join(members, ", ") + "."
}

// toRecordedSale is a sale with what followed from it.
func toRecordedSale(out commission.Outcome) (api.RecordedSale, error) {
	s := toSale(out.Sale)
	recorded := api.RecordedSale{
		ID: s.ID, Object: s.Object, ProgramID: s.ProgramID, CustomerID: s.CustomerID, PartnerID: s.PartnerID,
		ExternalChargeID: s.ExternalChargeID, ExternalPaymentIntentID: s.ExternalPaymentIntentID, Processor: s.Processor,
		AmountMinor: s.AmountMinor, ChargedMinor: s.ChargedMinor, RefundedMinor: s.RefundedMinor, TaxMinor: s.TaxMinor,
		Currency: s.Currency, BillingType: s.BillingType, Interval: s.Interval, ProductID: s.ProductID, ProductName: s.ProductName,
		IsFirstSale: s.IsFirstSale, OccurredAt: s.OccurredAt, RefundedAt: s.RefundedAt, Metadata: s.Metadata,
		ActivityOutcome: api.SaleActivityOutcome(out.Sale.ActivityOutcome), Warnings: []api.SaleWarning{}, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
	}
	if err := json.Unmarshal(out.Sale.Warnings, &recorded.Warnings); err != nil {
		return recorded, err
	}
	if len(out.Differs) > 0 {
		recorded.Warnings = append(recorded.Warnings, api.SaleWarning{Code: api.SaleWarningCodeDiffersFromRecorded, Message: differs("charge", out.Differs)})
	}
	return recorded, nil
}

// toPayment judges what the document cannot say of a body.
func toPayment(b *api.SaleCreate, now clock.Time) (commission.Payment, error) {
	currency, err := currencyOf(b.Currency)
	if err != nil {
		return commission.Payment{}, err
	}
	if b.TaxMinor != nil && *b.TaxMinor > b.AmountMinor {
		return commission.Payment{}, problem.Invalid("tax_minor", "tax_minor must be at most amount_minor.")
	}
	occurred := now
	if b.OccurredAt != nil {
		occurred = *b.OccurredAt
	}
	if occurred.After(now.Add(ahead)) {
		return commission.Payment{}, problem.Invalid("occurred_at", "occurred_at lies in the future.")
	}
	billing, err := billingOf(b)
	if err != nil {
		return commission.Payment{}, err
	}
	if err := metadata.Check(b.Metadata, "metadata"); err != nil {
		return commission.Payment{}, err
	}
	return commission.Payment{
		ProgramID: b.ProgramID, ExternalChargeID: b.ExternalChargeID, Processor: "api", AmountMinor: b.AmountMinor,
		TaxMinor: b.TaxMinor, Currency: currency, BillingType: string(billing), Interval: (*string)(b.Interval), ProductID: b.ProductID,
		ProductName: b.ProductName, OccurredAt: occurred, Dated: b.OccurredAt != nil, Metadata: metadata.Stored(b.Metadata),
	}, nil
}

func currencyOf(given string) (string, error) {
	code, ok := currency.Normal(given)
	if !ok {
		return "", problem.Invalid("currency", "currency must be an ISO 4217 code such as USD.")
	}
	return code, nil
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
