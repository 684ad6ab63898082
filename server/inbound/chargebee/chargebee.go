// Package chargebee reads the events of Chargebee, in the formats of both API versions and both product
// catalogs.
package chargebee

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"

	"rail/server/clock"
	"rail/server/inbound/loose"
	"rail/server/inbound/processor"
)

// Source implements processor.Source for Chargebee.
type Source struct{}

// Head verifies everything, since only the header is authenticated.
func (s Source) Head(secret string, header http.Header, now clock.Time) error {
	return s.Verify(secret, header, nil, now)
}

// Verify checks the user and the password that Chargebee sends with every event, since it signs nothing. The
// secret is both, separated by a colon. Replayed events are recognized by their id.
func (Source) Verify(secret string, header http.Header, _ []byte, _ clock.Time) error {
	user, password, ok := (&http.Request{Header: header}).BasicAuth()
	if !ok || secret == "" {
		return processor.ErrNoSignature
	}
	// Hashes have one length, so that the timing reveals nothing about the secret's.
	got, want := sha256.Sum256([]byte(user+":"+password)), sha256.Sum256([]byte(secret))
	if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
		return processor.ErrSignature
	}
	return nil
}

type event struct {
	ID   loose.ID   `json:"id"`
	Type loose.Text `json:"event_type"`
	At   loose.Int  `json:"occurred_at"`
	Of   struct {
		Transaction  transaction  `json:"transaction"`
		Invoice      invoice      `json:"invoice"`
		Customer     customer     `json:"customer"`
		Subscription subscription `json:"subscription"`
		Coupon       coupon       `json:"coupon"`
	} `json:"content"`
}

type transaction struct {
	ID           loose.ID   `json:"id"`
	Type         loose.Text `json:"type"`
	Status       loose.Text `json:"status"`
	Customer     loose.ID   `json:"customer_id"`
	Subscription loose.ID   `json:"subscription_id"`
	Currency     loose.Text `json:"currency_code"`
	Amount       loose.Int  `json:"amount"`
	Date         loose.Int  `json:"date"`
	Refunded     loose.ID   `json:"refunded_txn_id"`
	Reference    loose.ID   `json:"reference_transaction_id"` // of a refund made outside Chargebee, and of a reversal
	Reversal     loose.ID   `json:"reversal_transaction_id"`  // of a reversed payment
}

// invoice has its total and its payments under two names, for v1 and v2.
type invoice struct {
	Customer     loose.ID             `json:"customer_id"`
	Subscription loose.ID             `json:"subscription_id"`
	Currency     loose.Text           `json:"currency_code"`
	Amount       loose.Int            `json:"amount"`
	Total        loose.Int            `json:"total"`
	Tax          loose.Int            `json:"tax"`
	Lines        loose.List[line]     `json:"line_items"`
	Discounts    loose.List[discount] `json:"discounts"`
	Linked       loose.List[linked]   `json:"linked_transactions"`
	Payments     loose.List[linked]   `json:"linked_payments"`
}

type line struct {
	Type loose.Text `json:"entity_type"`
	ID   loose.ID   `json:"entity_id"`
	Name loose.Text `json:"description"`
}

// discount has its kind as type in v1, as entity_type in v2.
type discount struct {
	Type   loose.Text `json:"type"`
	Entity loose.Text `json:"entity_type"`
	ID     loose.ID   `json:"entity_id"`
	Code   loose.ID   `json:"coupon_set_code"`
}

type linked struct {
	ID     loose.ID   `json:"txn_id"`
	Type   loose.Text `json:"txn_type"` // v1 only; v2's are payments
	Status loose.Text `json:"txn_status"`
}

// marked has the merchant's data on customers and subscriptions: custom fields, whose names begin with cf_, or
// metadata.
type marked struct {
	Meta     loose.Meta `json:"meta_data"`
	Click    loose.Text `json:"cf_rail_click"`
	Merchant loose.Text `json:"cf_rail_customer"`
	Switch   loose.Text `json:"cf_rail"`
}

type customer struct {
	ID    loose.ID   `json:"id"`
	Email loose.Text `json:"email"`
	First loose.Text `json:"first_name"`
	Last  loose.Text `json:"last_name"`
	marked
}

type subscription struct {
	ID       loose.ID   `json:"id"`
	Customer loose.ID   `json:"customer_id"`
	Status   loose.Text `json:"status"`
	Interval loose.Text `json:"billing_period_unit"`
	Coupon   loose.ID   `json:"coupon"`
	Coupons  loose.List[struct {
		ID   loose.ID `json:"coupon_id"`
		Code loose.ID `json:"coupon_code"`
	}] `json:"coupons"`
	marked
}

type coupon struct {
	ID     loose.ID   `json:"id"`
	Status loose.Text `json:"status"`
}
