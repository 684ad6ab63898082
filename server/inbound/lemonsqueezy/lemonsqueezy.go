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
	"rail/server/inbound/lenient"
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
		Name   lenient.Text `json:"event_name"`
		Test   lenient.Bool `json:"test_mode"`
		Custom lenient.Meta `json:"custom_data"`
	} `json:"meta"`
	Data struct {
		ID lenient.ID `json:"id"`
		Of object     `json:"attributes"`
	} `json:"data"`
}

// object has the attributes used of orders, subscriptions and their invoices.
type object struct {
	Test         lenient.Bool `json:"test_mode"`
	Status       lenient.Text `json:"status"`
	Customer     lenient.ID   `json:"customer_id"`
	Email        lenient.Text `json:"user_email"`
	Name         lenient.Text `json:"user_name"`
	Order        lenient.ID   `json:"order_id"`
	Subscription lenient.ID   `json:"subscription_id"`
	Reason       lenient.Text `json:"billing_reason"`
	Created      lenient.Text `json:"created_at"`
	Updated      lenient.Text `json:"updated_at"`
	Item         struct {
		Product lenient.ID   `json:"product_id"`
		Name    lenient.Text `json:"product_name"`
	} `json:"first_order_item"`

	Currency lenient.Text `json:"currency"`
	Rate     lenient.Text `json:"currency_rate"`
	Total    lenient.Int  `json:"total"`
	TotalUSD lenient.Int  `json:"total_usd"`
	Tax      lenient.Int  `json:"tax"`
	Refunded lenient.Bool `json:"refunded"`
	Back     lenient.Int  `json:"refunded_amount"`
}
