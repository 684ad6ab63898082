// Package paddle reads the events of Paddle Billing.
package paddle

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"rail/server/clock"
	"rail/server/inbound/loose"
)

// Header carries the signature.
const Header = "Paddle-Signature"

const tolerance = 5 * time.Minute

// ErrSignature means that a request was not signed with the secret just now.
var ErrSignature = errors.New("paddle: the signature is missing, does not fit or is more than five minutes off")

// Source is Paddle as the inbox knows it.
type Source struct{}

// Verify checks the header Paddle-Signature: one of its h1, of which there are two
// while a secret is rotated, must be the HMAC-SHA256 of "<ts>:<body>".
func (Source) Verify(secret string, header http.Header, body []byte, now clock.Time) error {
	var ts string
	var given []string
	for pair := range strings.SplitSeq(header.Get(Header), ";") {
		switch name, value, _ := strings.Cut(strings.TrimSpace(pair), "="); {
		case name == "ts" && ts == "":
			ts = value
		case name == "h1" && len(given) < 16:
			given = append(given, value)
		}
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(ts + ":"))
	mac.Write(body)
	want, fits := mac.Sum(nil), false
	for _, s := range given {
		sum, err := hex.DecodeString(s)
		fits = err == nil && hmac.Equal(sum, want) || fits
	}
	at, err := strconv.ParseInt(ts, 10, 64)
	if off := now.Sub(time.Unix(at, 0)); err != nil || secret == "" || !fits || off > tolerance || off < -tolerance {
		return ErrSignature
	}
	return nil
}

type event struct {
	ID   loose.ID   `json:"event_id"`
	Type loose.Text `json:"event_type"`
	At   loose.Text `json:"occurred_at"`
	Data object     `json:"data"`
}

// object has the members of transactions, adjustments, subscriptions, customers and
// discounts that are read.
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

// totals are in the currency's minor units, as text.
type totals struct {
	Subtotal loose.Int `json:"subtotal"`
	Tax      loose.Int `json:"tax"`
	Total    loose.Int `json:"total"`
	Grand    loose.Int `json:"grand_total"`
	Fee      loose.Int `json:"fee"`
}
