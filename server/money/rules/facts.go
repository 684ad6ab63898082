package rules

import (
	"encoding/json"

	"rail/server/clock"
)

// Facts holds everything about one event that conditions may read. Money is in minor units. A nil pointer is a
// missing value, for which every leaf but `exists: false` is false (decisions, 3.4).
type Facts struct {
	// Sale is nil at a sign-up.
	Sale            *SaleFacts
	Customer        CustomerFacts
	Partner         PartnerFacts
	ProgramCurrency string
}

// SaleFacts is the sale being recorded. Metadata is its JSON object, or empty.
type SaleFacts struct {
	AmountMinor    int64
	NetAmountMinor int64
	Currency       string
	ProductID      *string
	ProductName    *string
	BillingType    string
	Interval       *string
	IsFirstSale    bool
	Metadata       json.RawMessage
	OccurredAt     clock.Time
}

// CustomerFacts is the customer of the event. Country is the country of the attributed click. Counters may be
// nil if no condition needs them (see Needs).
type CustomerFacts struct {
	ConvertedAt *clock.Time
	LeadAt      *clock.Time
	Country     *string
	TrackedBy   string
	CouponID    *string
	LinkID      *string
	Identifier  *string
	Metadata    json.RawMessage
	Counters    *CustomerCounters
}

// CustomerCounters counts the customer's unrefunded sales including the present one; the total covers sales in
// the program's currency.
type CustomerCounters struct {
	SalesCount     int64
	TotalPaidMinor int64
}

// PartnerFacts is the partner that the event is attributed to. Counters may be nil if no condition needs them
// (see Needs).
type PartnerFacts struct {
	ID          string
	GroupID     *string
	TagIDs      []string
	CountryCode *string
	Counters    *PartnerCounters
}

// PartnerCounters counts over the partner's whole life, including the present event, but not the commission
// being computed. Money is in the program's currency.
type PartnerCounters struct {
	LeadsCount       int64
	CustomersCount   int64
	SalesCount       int64
	RevenueMinor     int64
	CommissionsMinor int64
}

// Needs is a set of facts that cost a query.
type Needs uint8

// Facts that a caller may leave out unless a condition needs them.
const (
	NeedCustomerCounters Needs = 1 << iota
	NeedPartnerCounters
	NeedClickCountry
	NeedPartnerTags
)

// Has reports whether n includes any of needs.
func (n Needs) Has(what Needs) bool { return n&what != 0 }

// trigger returns the trigger of the event.
func (f *Facts) trigger() Trigger {
	if f.Sale == nil {
		return NewSignup
	}
	return NewPayment
}

// moment returns the time of the event, for which conditions are evaluated, so that back-dated imports come out
// right (decisions, 3.4).
func (f *Facts) moment() *clock.Time {
	if f.Sale == nil {
		return f.Customer.LeadAt
	}
	return &f.Sale.OccurredAt
}
