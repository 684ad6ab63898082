// Package stripe reads Stripe's events, in the shapes that its API had before
// 2025-03-31 (basil), from then on, and from 2025-09-30 (clover) on: an endpoint
// keeps the version that it was made with. It needs no key and asks nobody.
package stripe

import (
	"net/http"

	"rail/server/clock"
	"rail/server/inbound/processor"
)

// Header carries the signature.
const Header = "Stripe-Signature"

// signature is Stripe's; v0 is of test events and fits nothing.
var signature = processor.Signature{Between: ",", Time: "t", Sum: "v1", Joint: "."}

// Source is Stripe as the inbox knows it.
type Source struct{}

// Head asks for a signature of about now.
func (Source) Head(_ string, header http.Header, now clock.Time) error {
	return signature.Head(header.Get(Header), now)
}

// Verify checks the header Stripe-Signature. The key is the whole secret, whsec_
// included.
func (Source) Verify(secret string, header http.Header, body []byte, now clock.Time) error {
	return signature.Verify(secret, header.Get(Header), body, now)
}
