package sale

import (
	"encoding/json"
	"time"

	"rail/gen/api"
	"rail/server/clock"
	"rail/server/locale/currency"
	"rail/server/problem"
	"rail/server/work/metadata"
)

// Payment is a charge to record, as reported by its processor or by a merchant. Amounts are minor units of
// Currency, an ISO 4217 code; AmountMinor is gross, TaxMinor the tax within it, FeeMinor the processor's fee.
type Payment struct {
	ProgramID, ExternalChargeID      string
	Payer                            Payer
	ExternalPaymentIntentID          *string
	Processor                        string
	AmountMinor                      int64
	TaxMinor, FeeMinor               *int64
	Currency                         string
	BillingType                      *string // nil: Interval decides
	Interval, ProductID, ProductName *string
	OccurredAt                       *clock.Time // nil: now
	TestClock                        bool        // OccurredAt comes from a processor's test clock
	Metadata                         json.RawMessage
}

// maxAhead is how far in the future a sale may have occurred, since clocks differ (decisions, 90).
const maxAhead = 5 * time.Minute

// maxTestAhead is how far in the future a processor's test clock may be (decisions, 311).
const maxTestAhead = 10 * 366 * 24 * time.Hour

// bound returns how far in the future a time may be.
func bound(testClock bool, usual time.Duration) time.Duration {
	if testClock {
		return maxTestAhead
	}
	return usual
}

// charge is a validated payment with its customer.
type charge struct {
	ProgramID, CustomerID, ExternalChargeID string
	ExternalPaymentIntentID                 *string
	Processor                               string
	AmountMinor                             int64
	TaxMinor, FeeMinor                      *int64
	Currency                                string
	BillingType                             string
	Interval, ProductID, ProductName        *string
	OccurredAt                              clock.Time
	Dated                                   bool // the caller gave OccurredAt
	Metadata                                json.RawMessage
}

// validate returns the charge of a consistent payment.
func (p Payment) validate(now clock.Time) (charge, error) {
	code, err := currency.Parse(p.Currency)
	if err != nil {
		return charge{}, err
	}
	// The amount includes the tax; without it, it must not be negative.
	if p.TaxMinor != nil && *p.TaxMinor > p.AmountMinor {
		return charge{}, problem.Invalid("tax_minor", "tax_minor must be at most amount_minor.")
	}
	if p.FeeMinor != nil && *p.FeeMinor > p.AmountMinor {
		return charge{}, problem.Invalid("fee_minor", "fee_minor must be at most amount_minor.")
	}
	// The time decides the day of reports and when the commission matures.
	occurred := now
	if p.OccurredAt != nil {
		occurred = *p.OccurredAt
	}
	if occurred.After(now.Add(bound(p.TestClock, maxAhead))) {
		return charge{}, problem.Invalid("occurred_at", "occurred_at is in the future.")
	}
	billing, err := p.billing()
	if err != nil {
		return charge{}, err
	}
	if err := metadata.Check(p.Metadata, "metadata"); err != nil {
		return charge{}, err
	}
	return charge{
		ProgramID: p.ProgramID, ExternalChargeID: p.ExternalChargeID,
		ExternalPaymentIntentID: p.ExternalPaymentIntentID, Processor: p.Processor, AmountMinor: p.AmountMinor,
		TaxMinor: p.TaxMinor, FeeMinor: p.FeeMinor, Currency: code, BillingType: billing, Interval: p.Interval,
		ProductID: p.ProductID, ProductName: p.ProductName, OccurredAt: occurred, Dated: p.OccurredAt != nil,
		Metadata: metadata.Stored(p.Metadata),
	}, nil
}

// billing returns the billing type: an interval makes a subscription. Every stored sale has a type that the
// conditions of flows can read.
func (p Payment) billing() (string, error) {
	switch {
	case p.BillingType == nil && p.Interval != nil:
		return string(api.BillingTypeSubscription), nil
	case p.BillingType == nil:
		return string(api.BillingTypeOneTime), nil
	case *p.BillingType == string(api.BillingTypeOneTime) && p.Interval != nil:
		return "", problem.Invalid("interval", "interval requires billing_type subscription.")
	}
	return *p.BillingType, nil
}
