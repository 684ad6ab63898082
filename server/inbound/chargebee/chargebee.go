// Package chargebee reads the events of Chargebee, in the formats of both API versions and both product
// catalogs.
package chargebee

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"

	"rail/server/clock"
	"rail/server/inbound/lenient"
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
	ID   lenient.ID   `json:"id"`
	Type lenient.Text `json:"event_type"`
	At   lenient.Int  `json:"occurred_at"`
	Of   struct {
		Transaction  transaction  `json:"transaction"`
		Invoice      invoice      `json:"invoice"`
		Customer     customer     `json:"customer"`
		Subscription subscription `json:"subscription"`
		Coupon       coupon       `json:"coupon"`
	} `json:"content"`
}

type transaction struct {
	ID           lenient.ID   `json:"id"`
	Type         lenient.Text `json:"type"`
	Status       lenient.Text `json:"status"`
	Customer     lenient.ID   `json:"customer_id"`
	Subscription lenient.ID   `json:"subscription_id"`
	Currency     lenient.Text `json:"currency_code"`
	Amount       lenient.Int  `json:"amount"`
	Date         lenient.Int  `json:"date"`
	Refunded     lenient.ID   `json:"refunded_txn_id"`
	Reference    lenient.ID   `json:"reference_transaction_id"` // of a refund made outside Chargebee, and of a reversal
	Reversal     lenient.ID   `json:"reversal_transaction_id"`  // of a reversed payment
}

// invoice has its total and its payments under two names, for v1 and v2.
type invoice struct {
	Customer     lenient.ID             `json:"customer_id"`
	Subscription lenient.ID             `json:"subscription_id"`
	Currency     lenient.Text           `json:"currency_code"`
	Amount       lenient.Int            `json:"amount"`
	Total        lenient.Int            `json:"total"`
	Tax          lenient.Int            `json:"tax"`
	Lines        lenient.List[line]     `json:"line_items"`
	Discounts    lenient.List[discount] `json:"discounts"`
	Linked       lenient.List[linked]   `json:"linked_transactions"`
	Payments     lenient.List[linked]   `json:"linked_payments"`
}

type line struct {
	Type lenient.Text `json:"entity_type"`
	ID   lenient.ID   `json:"entity_id"`
	Name lenient.Text `json:"description"`
}

// discount has its kind as type in v1, as entity_type in v2.
type discount struct {
	Type   lenient.Text `json:"type"`
	Entity lenient.Text `json:"entity_type"`
	ID     lenient.ID   `json:"entity_id"`
	Code   lenient.ID   `json:"coupon_set_code"`
}

type linked struct {
	ID     lenient.ID   `json:"txn_id"`
	Type   lenient.Text `json:"txn_type"` // v1 only; v2's are payments
	Status lenient.Text `json:"txn_status"`
}

// marked has the merchant's data on customers and subscriptions: custom fields, whose names begin with cf_, or
// metadata.
type marked struct {
	Meta     lenient.Meta `json:"meta_data"`
	Click    lenient.Text `json:"cf_rail_click"`
	Merchant lenient.Text `json:"cf_rail_customer"`
	Switch   lenient.Text `json:"cf_rail"`
}

type customer struct {
	ID    lenient.ID   `json:"id"`
	Email lenient.Text `json:"email"`
	First lenient.Text `json:"first_name"`
	Last  lenient.Text `json:"last_name"`
	marked
}

type subscription struct {
	ID       lenient.ID   `json:"id"`
	Customer lenient.ID   `json:"customer_id"`
	Status   lenient.Text `json:"status"`
	Interval lenient.Text `json:"billing_period_unit"`
	Coupon   lenient.ID   `json:"coupon"`
	Coupons  lenient.List[struct {
		ID   lenient.ID `json:"coupon_id"`
		Code lenient.ID `json:"coupon_code"`
	}] `json:"coupons"`
	marked
}

type coupon struct {
	ID     lenient.ID   `json:"id"`
	Status lenient.Text `json:"status"`
}
