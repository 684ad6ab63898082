// Package lemonsqueezy reads the events of Lemon Squeezy. The first payment of a subscription comes as an order
// and as an invoice without a link between them: the order is recorded, and the subscription's event links the
// two.
package lemonsqueezy

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"

	"rail/server/clock"
	"rail/server/inbound/loose"
	"rail/server/inbound/processor"
)

// Header is the header with the signature.
const Header = "X-Signature"

// Source implements processor.Source for Lemon Squeezy.
type Source struct{}

// Head requires a signature, which has no time.
func (Source) Head(_ string, header http.Header, _ clock.Time) error {
	if sum, err := hex.DecodeString(header.Get(Header)); err != nil || len(sum) != sha256.Size {
		return processor.ErrNoSignature
	}
	return nil
}

// Verify checks the header X-Signature, the HMAC-SHA256 of the body. It has no time: replayed events are
// recognized by their body.
func (Source) Verify(secret string, header http.Header, body []byte, _ clock.Time) error {
	sum, err := hex.DecodeString(header.Get(Header))
	if err != nil || len(sum) == 0 || secret == "" {
		return processor.ErrNoSignature
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	if !hmac.Equal(sum, mac.Sum(nil)) {
		return processor.ErrSignature
	}
	return nil
}

type event struct {
	Meta struct {
		Name   loose.Text `json:"event_name"`
		Test   loose.Bool `json:"test_mode"`
		Custom loose.Meta `json:"custom_data"`
	} `json:"meta"`
	Data struct {
		ID loose.ID `json:"id"`
		Of object   `json:"attributes"`
	} `json:"data"`
}

// object has the attributes used of orders, subscriptions and their invoices.
type object struct {
	Test         loose.Bool `json:"test_mode"`
	Status       loose.Text `json:"status"`
	Customer     loose.ID   `json:"customer_id"`
	Email        loose.Text `json:"user_email"`
	Name         loose.Text `json:"user_name"`
	Order        loose.ID   `json:"order_id"`
	Subscription loose.ID   `json:"subscription_id"`
	Reason       loose.Text `json:"billing_reason"`
	Created      loose.Text `json:"created_at"`
	Updated      loose.Text `json:"updated_at"`
	Item         struct {
		Product loose.ID   `json:"product_id"`
		Name    loose.Text `json:"product_name"`
	} `json:"first_order_item"`

	Currency loose.Text `json:"currency"`
	Rate     loose.Text `json:"currency_rate"`
	Total    loose.Int  `json:"total"`
	TotalUSD loose.Int  `json:"total_usd"`
	Tax      loose.Int  `json:"tax"`
	Refunded loose.Bool `json:"refunded"`
	Back     loose.Int  `json:"refunded_amount"`
}
