// Package processor defines the common form of payment processors' events. A processor's package reads its
// events into a Reading and knows neither tenant nor database; the inbox decides what a Reading changes.
package processor

import (
	"net/http"

	"rail/server/clock"
)

// Source is a processor's format: how its requests are signed, and what its events mean. A Source whose bodies
// have no event id also has an EventID method.
type Source interface {
	// Head returns an error if the header alone shows that Verify will fail, so that the body need not be read.
	Head(secret string, header http.Header, now clock.Time) error
	// Verify returns nil if the request was signed with secret recently.
	Verify(secret string, header http.Header, body []byte, now clock.Time) error
	// Read reads an event. With a MalformedError, the Reading has everything read before it, above all ID and Type.
	Read(body []byte) (Reading, error)
}

// Reading is one event. At most one of Payment, Refund, Dispute and Coupon is set. A Binding may be set alone,
// with the reason why no money was read, or with an unpaid Payment.
type Reading struct {
	ID      string // the processor's event id; empty if bodies have none
	Type    string
	Live    bool
	NoMode  bool   // the event has no mode: the connection's applies
	Account string // the account on a platform's endpoint, else empty
	At      clock.Time

	Ignored Reason // why nothing is recorded, unless Binding changes something
	Note    string // a sentence for people, may be empty

	Payment *Payment
	Refund  *Refund
	Dispute *Dispute
	Coupon  *Coupon
	Binding *Binding
	Link    Link   // of a payment reported by another event
	Intent  string // the payment intent of that payment, may be empty
}

// Reason is the code of an ignored event.
type Reason string

// The reasons of ignored events.
const (
	NotUsed        Reason = "not_used"        // a type or state that Rail does not use
	ZeroAmount     Reason = "zero_amount"     // nothing was paid
	BindsOnly      Reason = "binds_only"      // only identifies a customer
	ConnectAccount Reason = "connect_account" // belongs to an account of a platform
	OptedOut       Reason = "opted_out"       // opted out by the merchant
	NoMoneyMoved   Reason = "no_money_moved"  // about money, but moves none
	NotFinal       Reason = "not_final"       // a later event may still move the money
)

// Reasons lists all reasons.
var Reasons = []Reason{NotUsed, ZeroAmount, BindsOnly, ConnectAccount, OptedOut, NoMoneyMoved, NotFinal}

// Link names one payment by every known id.
type Link struct {
	Charge string   // the sale's external_charge_id, or the closest to it
	Alias  []string // further ids used by refunds or disputes
}

// Payment is a customer's payment. It belongs to a subscription if Binding names one.
type Payment struct {
	Link

	AmountMinor int64  // gross, positive
	TaxMinor    int64  // included in AmountMinor
	FeeMinor    *int64 // the processor's fee, included in AmountMinor; nil if unknown
	Currency    string
	At          clock.Time
	Intent      string // external_payment_intent_id, may be empty
	ProductID   string // empty if there are several
	ProductName string
	Metadata    map[string]any
	// Outside reports that an invoice or a checkout may still report the same money.
	Outside bool
	// Unpaid reports that the money of a checkout has not arrived. Another event reports it.
	Unpaid bool
	// Captured reports that the money was authorized before it was paid: the checkout came unpaid, and no later event
	// of it reports the money.
	Captured bool
	// Bought is the payment's name in the event of a checkout, which may come a moment later and identify the
	// partner; empty if no checkout made it.
	Bought string
	// Recurs is the payment's name in another event, which may come a moment later, if it starts a subscription;
	// empty if the payment's own event tells.
	Recurs string

	Binding
}

// Binding identifies a customer and the routes to a partner. Every member may be empty.
type Binding struct {
	Customer   string // external_customer_id; empty for a guest
	Identifier string // the merchant's id; may be unknown to Rail
	Email      string
	Name       string
	Click      string // ids that the script passed to the checkout
	Referral   string
	Coupon     []string // external ids of promotion codes and coupons

	Subscription string
	Interval     string // day, week, month or year, if known
	Status       string // trial, active or cancelled, as of the event's time; may be empty
	Skip         bool   // the merchant opted this customer out
	// CustomerOnly marks an event about the customer itself, of which only Skip is used.
	CustomerOnly bool
}

// Refund is how much of a payment was refunded. LevelMinor is the total so far, never a difference; if a
// processor reports refunds one by one, the level is at least this one.
type Refund struct {
	Link

	ID         string // of a single refund, empty if the event is about the payment
	LevelMinor int64
	// Single means that LevelMinor belongs to the refund ID alone, in addition to others of the payment; zero refunds
	// the whole rest.
	Single bool
	// OfSale means that the level belongs to the whole sale, whichever of its names the event has; else to the one
	// payment of Link.
	OfSale   bool
	OfMinor  int64 // the payment's amount in Currency, zero if unknown
	Currency string
	// OnTop means that the money was refunded outside the processor, so that no level includes it.
	OnTop  bool
	Failed bool // the refund did not reach the customer
	Undone bool // the refund was reversed: the merchant has the money
	At     clock.Time
}

// The states of a dispute.
const (
	DisputeOpen      = "open"
	DisputeWithdrawn = "withdrawn" // a warning or inquiry that ended without taking money
	DisputeWon       = "won"       // the merchant has the money, or got it back
	DisputeLost      = "lost"      // the money was taken
)

// Dispute is a customer's bank demanding a payment back.
type Dispute struct {
	Link

	ID     string
	Status string // one of the states above
	Detail string // the processor's term for it
	// Taking is the transaction that took AmountMinor of a lost dispute, once and in addition to others; empty if
	// AmountMinor is the dispute's total.
	Taking string
	// Reversal is the transaction that returned AmountMinor of a won dispute; empty if winning returns everything
	// taken.
	Reversal    string
	AmountMinor int64
	OfMinor     int64 // the payment's amount in Currency, zero if unknown
	Currency    string
	At          clock.Time
}

// Coupon reports whether a discount code is valid.
type Coupon struct {
	ID     string // the external_id of the coupons concerned
	Code   string
	Parent string // the discount behind the code, may be empty
	Active bool
}

// MalformedError is an event with a missing or invalid member.
type MalformedError struct{ Member string }

// Error names the member.
func (m MalformedError) Error() string { return m.Member + " is missing or invalid." }
