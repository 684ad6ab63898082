// Package stripe reads Stripe's events, in the formats of its API before 2025-03-31 (basil), from then on, and
// from 2025-09-30 (clover) on: an endpoint keeps the version of its creation. It needs no key and makes no
// requests.
package stripe

import (
	"net/http"

	"rail/server/clock"
	"rail/server/inbound/processor"
)

// Header is the header with the signature.
const Header = "Stripe-Signature"

// signature is Stripe's; v0 belongs to test events and never verifies.
var signature = processor.Signature{Between: ",", Time: "t", Sum: "v1", Joint: "."}

// Source implements processor.Source for Stripe.
type Source struct{}

// Head requires a recent signature.
func (Source) Head(_ string, header http.Header, now clock.Time) error {
	return signature.Head(header.Get(Header), now)
}

// Verify checks the header Stripe-Signature. The key is the whole secret, including whsec_.
func (Source) Verify(secret string, header http.Header, body []byte, now clock.Time) error {
	return signature.Verify(secret, header.Get(Header), body, now)
}
