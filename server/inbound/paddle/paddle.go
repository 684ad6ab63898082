// Package paddle reads the events of Paddle Billing.
package paddle

import (
	"net/http"

	"rail/server/clock"
	"rail/server/inbound/loose"
	"rail/server/inbound/processor"
)

// Header is the header with the signature.
const Header = "Paddle-Signature"

var signature = processor.Signature{Between: ";", Time: "ts", Sum: "h1", Joint: ":"}

// Source implements processor.Source for Paddle.
type Source struct{}

// Head requires a recent signature.
func (Source) Head(_ string, header http.Header, now clock.Time) error {
	return signature.Head(header.Get(Header), now)
}

// Verify checks the header Paddle-Signature.
func (Source) Verify(secret string, header http.Header, body []byte, now clock.Time) error {
	return signature.Verify(secret, header.Get(Header), body, now)
}

type event struct {
	ID   loose.ID   `json:"event_id"`
	Type loose.Text `json:"event_type"`
	At   loose.Text `json:"occurred_at"`
	Data object     `json:"data"`
}

// object has the members used of transactions, adjustments, subscriptions, customers and discounts.
type object struct {
	ID           loose.ID         `json:"id"`
	Status       loose.Text       `json:"status"`
	Customer     loose.ID         `json:"customer_id"`
	Subscription loose.ID         `json:"subscription_id"`
	Discount     loose.ID         `json:"discount_id"`
	Currency     loose.Text       `json:"currency_code"`
	Custom       loose.Meta       `json:"custom_data"`
	Cycle        cycle            `json:"billing_cycle"`
	Items        loose.List[item] `json:"items"`
	Details      struct {
		Totals totals                `json:"totals"`
		Lines  loose.List[purchased] `json:"line_items"`
	} `json:"details"`

	// Of adjustments.
	Action      loose.Text `json:"action"`
	Type        loose.Text `json:"type"`
	Transaction loose.ID   `json:"transaction_id"`
	Totals      totals     `json:"totals"`

	// Of customers and discounts.
	Email loose.Text `json:"email"`
	Name  loose.Text `json:"name"`
	Code  loose.Text `json:"code"`
}

type cycle struct {
	Interval loose.Text `json:"interval"`
}

type item struct {
	Price struct {
		Cycle cycle `json:"billing_cycle"`
	} `json:"price"`
}

type purchased struct {
	Product struct {
		ID   loose.ID   `json:"id"`
		Name loose.Text `json:"name"`
	} `json:"product"`
}

// totals are in the currency's minor units, as strings.
type totals struct {
	Subtotal loose.Int `json:"subtotal"`
	Tax      loose.Int `json:"tax"`
	Total    loose.Int `json:"total"`
	Grand    loose.Int `json:"grand_total"`
	Fee      loose.Int `json:"fee"`
}
