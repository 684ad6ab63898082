// Package paddle reads the events of Paddle Billing.
package paddle

import (
	"net/http"

	"rail/server/clock"
	"rail/server/inbound/lenient"
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
	ID   lenient.ID   `json:"event_id"`
	Type lenient.Text `json:"event_type"`
	At   lenient.Text `json:"occurred_at"`
	Data object       `json:"data"`
}

// object has the members used of transactions, adjustments, subscriptions, customers and discounts.
type object struct {
	ID           lenient.ID         `json:"id"`
	Status       lenient.Text       `json:"status"`
	Customer     lenient.ID         `json:"customer_id"`
	Subscription lenient.ID         `json:"subscription_id"`
	Discount     lenient.ID         `json:"discount_id"`
	Currency     lenient.Text       `json:"currency_code"`
	Custom       lenient.Meta       `json:"custom_data"`
	Cycle        cycle              `json:"billing_cycle"`
	Items        lenient.List[item] `json:"items"`
	Details      struct {
		Totals totals                  `json:"totals"`
		Lines  lenient.List[purchased] `json:"line_items"`
	} `json:"details"`

	// Of adjustments.
	Action      lenient.Text `json:"action"`
	Type        lenient.Text `json:"type"`
	Transaction lenient.ID   `json:"transaction_id"`
	Totals      totals       `json:"totals"`

	// Of customers and discounts.
	Email lenient.Text `json:"email"`
	Name  lenient.Text `json:"name"`
	Code  lenient.Text `json:"code"`
}

type cycle struct {
	Interval lenient.Text `json:"interval"`
}

type item struct {
	Price struct {
		Cycle cycle `json:"billing_cycle"`
	} `json:"price"`
}

type purchased struct {
	Product struct {
		ID   lenient.ID   `json:"id"`
		Name lenient.Text `json:"name"`
	} `json:"product"`
}

// totals are in the currency's minor units, as strings.
type totals struct {
	Subtotal lenient.Int `json:"subtotal"`
	Tax      lenient.Int `json:"tax"`
	Total    lenient.Int `json:"total"`
	Grand    lenient.Int `json:"grand_total"`
	Fee      lenient.Int `json:"fee"`
}
