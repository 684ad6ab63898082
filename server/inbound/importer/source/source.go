// Package source reads the data of other affiliate products, for an import. Each product is one file with its
// addresses, paging, limits and states, and returns rows in the common form of this file.
package source

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"rail/server/clock"
)

// Kind is the kind of a row.
type Kind string

// The kinds, in the order in which rows are written: a row refers only to rows of earlier kinds.
const (
	KindPartner    Kind = "partners"
	KindLink       Kind = "links"
	KindCoupon     Kind = "coupons"
	KindCustomer   Kind = "customers"
	KindSale       Kind = "sales"
	KindCommission Kind = "commissions"
	KindPayout     Kind = "payouts"
)

// Kinds has all kinds in their order.
var Kinds = []Kind{KindPartner, KindLink, KindCoupon, KindCustomer, KindSale, KindCommission, KindPayout}

// Source is one account at another product. Its lists are read one after another. A list may return rows of several
// kinds; the order of rows does not matter, since nothing is written before everything is read.
type Source interface {
	Lists() []List
}

// List is a list of the source. Read returns the page at cursor, which is empty for the first page. It is called
// again with the same cursor after an error or a restart, and must then return the same rows or newer ones. A row
// that comes twice counts once.
type List struct {
	Name string // shown while it is read, such as "affiliates"
	Read func(ctx context.Context, cursor string) (Page, error)
}

// Page is a page of a list. Next is the cursor of the next page, empty after the last one.
type Page struct {
	Rows []Row
	Next string
}

// Row is one object of a source. Exactly one of the pointers is set, unless Problem explains why the object cannot be
// imported. ID is the object's id at the source, unique in its kind.
type Row struct {
	Kind       Kind
	ID         string
	Partner    *Partner
	Link       *Link
	Coupon     *Coupon
	Customer   *Customer
	Sale       *Sale
	Commission *Commission
	Payout     *Payout
	Problem    *Problem
}

// Problem explains why an object is not imported, or how it is changed on the way.
type Problem struct {
	Code   Code   `json:"code"`
	Detail string `json:"detail"` // for a person, such as: the unit of the commission is "points"
}

// Code is the code of a problem.
type Code string

// The codes that sources report; the importer adds those of references and conflicts.
const (
	MissingMember Code = "missing_member" // a required member is missing or cannot be read
	UnknownStatus Code = "unknown_status" // a status that the source's documentation does not have
	NotMoney      Code = "not_money"      // points, credits or free months
	TestData      Code = "test_data"      // an object of the source's test mode
	OutOfBounds   Code = "out_of_bounds"  // a value that Rail cannot store
	Duplicate     Code = "duplicate"      // another object of the source has the same id
)

// Partner is an affiliate. A partner without links gets one with its handle. Open amounts are only for comparison.
type Partner struct {
	Email       string            `json:"email"`
	FirstName   string            `json:"first_name,omitempty"`
	LastName    string            `json:"last_name,omitempty"`
	CompanyName string            `json:"company_name,omitempty"`
	WebsiteURL  string            `json:"website_url,omitempty"`
	CountryCode string            `json:"country_code,omitempty"` // ISO 3166, two letters
	Handle      string            `json:"handle,omitempty"`       // preferred, if the source has one
	Published   bool              `json:"published,omitempty"`    // published addresses have the handle as a value
	Status      string            `json:"status"`                 // active, pending, declined or suspended
	Group       string            `json:"group,omitempty"`        // name of the source's group or campaign
	ExternalID  string            `json:"external_id,omitempty"`  // the merchant's own id of the partner
	Open        map[string]int64  `json:"open,omitempty"`         // unpaid amount that the source states, by currency
	CreatedAt   clock.Time        `json:"created_at,omitzero"`
	Metadata    map[string]string `json:"metadata,omitempty"`
}

// The states of partners.
const (
	Active    = "active"
	Pending   = "pending"
	Declined  = "declined"
	Suspended = "suspended"
)

// Link is a tracking value of a partner. Param is the name of the query parameter and Value its content, exactly as
// in published addresses.
type Link struct {
	PartnerID string     `json:"partner_id"`
	Param     string     `json:"param"`
	Value     string     `json:"value"`
	URL       string     `json:"url,omitempty"` // the page that the link leads to, without the parameter
	CreatedAt clock.Time `json:"created_at,omitzero"`
}

// Coupon is a discount code that credits a partner.
type Coupon struct {
	PartnerID  string     `json:"partner_id"`
	Code       string     `json:"code"`
	ExternalID string     `json:"external_id,omitempty"` // the processor's id of the promotion code
	Active     bool       `json:"active"`
	CreatedAt  clock.Time `json:"created_at,omitzero"`
}

// Customer is a referred person, from the lead on. ExternalIDs are the ids under which the processor and the
// merchant's own system report payments; the first is the customer's main id.
type Customer struct {
	PartnerID   string      `json:"partner_id"`
	ExternalIDs []string    `json:"external_ids,omitempty"`
	Processor   string      `json:"processor,omitempty"` // stripe, paddle, chargebee, lemon_squeezy, polar; empty if not known
	Email       string      `json:"email,omitempty"`
	Name        string      `json:"name,omitempty"`
	Identifier  string      `json:"identifier,omitempty"` // the merchant's own id of the customer
	LinkID      string      `json:"link_id,omitempty"`
	CouponID    string      `json:"coupon_id,omitempty"`
	Status      string      `json:"status"` // lead, trial, active or cancelled
	LeadAt      clock.Time  `json:"lead_at,omitzero"`
	ConvertedAt *clock.Time `json:"converted_at,omitempty"`
	CreatedAt   clock.Time  `json:"created_at,omitzero"`
	// SubscriptionID is the processor's id of the customer's subscription.
	SubscriptionID string `json:"subscription_id,omitempty"`
}

// The states of customers.
const (
	Lead      = "lead"
	Trial     = "trial"
	Paying    = "active"
	Cancelled = "cancelled"
)

// Sale is a payment. AmountMinor is the whole amount before refunds, RefundedMinor the refunded part of it; both are
// minor units of Currency and include tax. A sale may have no partner.
type Sale struct {
	CustomerID    string      `json:"customer_id"`
	PartnerID     string      `json:"partner_id,omitempty"`
	ChargeID      string      `json:"charge_id,omitempty"` // the processor's id of the payment
	AmountMinor   int64       `json:"amount_minor"`
	TaxMinor      *int64      `json:"tax_minor,omitempty"`
	RefundedMinor int64       `json:"refunded_minor,omitempty"`
	Currency      string      `json:"currency"`
	ProductName   string      `json:"product_name,omitempty"`
	Recurring     bool        `json:"recurring,omitempty"`
	OccurredAt    clock.Time  `json:"occurred_at,omitzero"`
	RefundedAt    *clock.Time `json:"refunded_at,omitempty"`
}

// Commission is an amount that a partner earned. AmountMinor is the rest of it after refunds; it is negative for a
// deduction. A commission without a sale is a reward.
type Commission struct {
	PartnerID   string      `json:"partner_id"`
	CustomerID  string      `json:"customer_id,omitempty"`
	SaleID      string      `json:"sale_id,omitempty"`
	AmountMinor int64       `json:"amount_minor"`
	Currency    string      `json:"currency"`
	Status      string      `json:"status"` // pending, due, paid, voided or rejected
	Reason      string      `json:"reason,omitempty"`
	CreatedAt   clock.Time  `json:"created_at,omitzero"`
	MatureAt    *clock.Time `json:"mature_at,omitempty"` // when a pending one becomes due; without it, a person approves
	PaidAt      *clock.Time `json:"paid_at,omitempty"`
	VoidedAt    *clock.Time `json:"voided_at,omitempty"`
	PayoutID    string      `json:"payout_id,omitempty"`
}

// The states of commissions.
const (
	Open     = "pending" // not yet payable
	Due      = "due"
	Paid     = "paid"
	Voided   = "voided"   // after a refund
	Rejected = "rejected" // by the merchant
)

// Payout is a payment to a partner. Only paid ones are imported.
type Payout struct {
	PartnerID   string      `json:"partner_id"`
	AmountMinor int64       `json:"amount_minor"`
	Currency    string      `json:"currency"`
	Status      string      `json:"status"` // paid, or any other word
	Method      string      `json:"method,omitempty"`
	PaidAt      *clock.Time `json:"paid_at,omitempty"`
	CreatedAt   clock.Time  `json:"created_at,omitzero"`
	// CommissionIDs are the commissions that it pays, for sources whose commissions do not name their payout.
	CommissionIDs []string `json:"commission_ids,omitempty"`
}

// Account has the access to a source.
type Account struct {
	Key     string // API key; for a source with two, "public:secret"
	ID      string // FirstPromoter's account id, Tolt's program id, or the address of AffiliateWP's site
	Address string // replaces the scheme and host of the API; a path in it comes before the API's own
	// Since, if not nil, limits lists that have such a filter to objects that changed since then; others are read as a
	// whole.
	Since *clock.Time
	// Currency is the program's, for sources that do not name one.
	Currency string
	Zone     *time.Location // the program's, of dates without a time; nil is UTC
}

// ErrKey is wrapped by an error for a key that the source refuses.
var ErrKey = errors.New("the source refuses the API key")

// Product is a product with an API.
type Product struct {
	Name    string // as in the API
	Title   string // as people write it
	Address string // of its API
	// Params are the query parameters of its links, the usual one first.
	Params []string
	// ExactCase means that the product distinguishes upper and lower case in values; FoldsCase that it does not.
	ExactCase, FoldsCase bool
	// NeedsAccount means that Account.ID is required.
	NeedsAccount bool
	Open         func(Account) Source
}

// products has every product with an API, by name.
var products = map[string]Product{
	"affiliatewp":   affiliatewpProduct,
	"dub":           dubProduct,
	"firstpromoter": firstPromoterProduct,
	"goaffpro":      goaffproProduct,
	"partnerstack":  partnerstackProduct,
	"refersion":     refersionProduct,
	"rewardful":     rewardfulProduct,
	"tapfiliate":    tapfiliateProduct,
	"tolt":          toltProduct,
}

// Names returns the names of the products, sorted.
func Names() []string { return slices.Sorted(maps.Keys(products)) }

// Find returns a product by its name.
func Find(name string) (Product, bool) {
	p, ok := products[name]
	open := p.Open
	p.Open = func(a Account) Source { return zoned{open(a), a.Zone} }
	return p, ok
}
