// Package processor says what payment processors report in Rail's own terms. A
// processor's package reads its events into a Reading and knows neither tenant
// nor database; what a Reading changes is decided by the inbox.
package processor

import (
	"net/http"

	"rail/server/clock"
)

// Source is what Rail knows of a processor: how its requests are signed, and what
// its events mean.
type Source interface {
	// Head reports an error if the header alone shows that Verify will refuse the
	// request: its body need not be read.
	Head(secret string, header http.Header, now clock.Time) error
	// Verify reports nil if the request was signed with secret at about now.
	Verify(secret string, header http.Header, body []byte, now clock.Time) error
	// Read returns what an event says. With an error, a MalformedError, what was read
	// before it stands in the Reading, its ID and Type above all.
	Read(body []byte) (Reading, error)
}

// Reading is what one event says. At most one of Payment, Refund, Dispute and
// Coupon is set. A Binding may stand alone, or beside a reason for which no money
// was read.
type Reading struct {
	ID      string // of the event, at its processor; empty where bodies have none
	Type    string
	Live    bool
	NoMode  bool   // the event does not say whether it is live: its connection does
	Account string // whose the event is on a platform's endpoint, else empty
	At      clock.Time

	Ignored Reason // why nothing is to be recorded, unless Binding changes something
	Note    string // a sentence for whoever looks at the event, may be empty

	Payment *Payment
	Refund  *Refund
	Dispute *Dispute
	Coupon  *Coupon
	Binding *Binding
	Link    Link   // of a payment that another event reports
	Intent  string // the payment intent of that payment, empty if the event does not say
}

// Reason is the code by which an event is ignored.
type Reason string

// The reasons that an event itself gives.
const (
	NotUsed        Reason = "not_used"        // of a type or state that says nothing to Rail
	ZeroAmount     Reason = "zero_amount"     // nothing was paid
	BindsOnly      Reason = "binds_only"      // it might have said who a customer is
	ConnectAccount Reason = "connect_account" // it belongs to an account of a platform
	OptedOut       Reason = "opted_out"       // the merchant marked it as not Rail's
	NoMoneyMoved   Reason = "no_money_moved"  // it is about money, and moves none
	NotFinal       Reason = "not_final"       // the money may still move, by a later event
)

// Reasons are all of them.
var Reasons = []Reason{NotUsed, ZeroAmount, BindsOnly, ConnectAccount, OptedOut, NoMoneyMoved, NotFinal}

// Link names one payment by every id that is known for it.
type Link struct {
	Charge string   // the sale's external_charge_id, or the nearest to it
	Alias  []string // others, by which a refund or a dispute may name it
}

// Payment is money that a customer paid. It belongs to a subscription if
// Binding names one.
type Payment struct {
	Link

	AmountMinor int64  // gross, above zero
	TaxMinor    int64  // within AmountMinor
	FeeMinor    *int64 // what the processor kept of AmountMinor, nil if it does not say
	Currency    string
	At          clock.Time
	Intent      string // external_payment_intent_id, empty where there is none
	ProductID   string // empty if there are several
	ProductName string
	Metadata    map[string]any
	// Outside says that nothing tells yet whether an invoice or a checkout
	// reports the same money.
	Outside bool
	// Bought is the name that the event of a checkout gives this payment, which may come a
	// moment later and tell who brought the customer; empty where no checkout made it.
	Bought string
	// Recurs is the name that another event gives this payment as the first of a
	// subscription, which may come a moment later; empty where the payment says itself
	// what it is.
	Recurs string

	Binding
}

// Binding says who a customer is and what tells whose partner brought them.
// Every member may be empty.
type Binding struct {
	Customer   string // external_customer_id; empty for a guest
	Identifier string // of the merchant; an unknown one is no error
	Email      string
	Name       string
	Click      string // ids that Rail handed to the checkout
	Referral   string
	Coupon     []string // external ids of promotion codes and coupons

	Subscription string
	Interval     string // day, week, month or year, if known
	Status       string // trial, active or cancelled if the event says so, as of its At
	Skip         bool   // the merchant marked this customer as not Rail's
	// Itself says that the event is about the customer, and Skip all there is to know.
	Itself bool
}

// Refund says how much of a payment came back. LevelMinor is all of it up to now,
// never a difference; where a processor reports refunds one by one, the level is
// at least this one.
type Refund struct {
	Link

	ID         string // of the one refund, empty if the event is about the payment
	LevelMinor int64
	// Single says that LevelMinor is of the refund ID alone, which adds to others of
	// the payment; zero gives back all that is left.
	Single bool
	// OfSale says that the level is of the whole sale, whichever of its names the event
	// has; else it is of the one payment that Link names.
	OfSale   bool
	OfMinor  int64 // what the payment was in Currency, zero if the event does not say
	Currency string
	// OnTop means that the money went back outside the processor. No level includes it.
	OnTop  bool
	Failed bool // the refund was tried and did not reach the customer
	Undone bool // the refund, which may be recorded, did not stand: the merchant has the money
	At     clock.Time
}

// The states of a dispute.
const (
	DisputeOpen      = "open"
	DisputeWithdrawn = "withdrawn" // a warning or inquiry that ended without taking money
	DisputeWon       = "won"       // the merchant has the money, also where it was taken before
	DisputeLost      = "lost"      // the money was taken
)

// Dispute says that a customer's bank wants a payment back.
type Dispute struct {
	Link

	ID     string
	Status string // one of the states above
	Detail string // the processor's own word for it
	// Taking is what took AmountMinor of a lost dispute, once and beside what others took;
	// empty where AmountMinor is all that the dispute took.
	Taking string
	// Reversal is what gave AmountMinor of a won dispute back; empty where winning gives
	// back all that the dispute took.
	Reversal    string
	AmountMinor int64
	OfMinor     int64 // what the payment was in Currency, zero if the event does not say
	Currency    string
	At          clock.Time
}

// Coupon says that a discount code may be used, or no more.
type Coupon struct {
	ID     string // the external_id of coupons that it is about
	Code   string
	Parent string // what the code takes its discount from, empty if nothing
	Active bool
}

// MalformedError is an event that names a member which is absent or of another kind
// than it must be.
type MalformedError struct{ Member string }

// Error names the member.
func (m MalformedError) Error() string { return m.Member + " is missing or was not understood." }
