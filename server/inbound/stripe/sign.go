// Package stripe reads Stripe's events, in the shapes that its API had before
// 2025-03-31 (basil), from then on, and from 2025-09-30 (clover) on: an endpoint
// keeps the version that it was made with. It needs no key and asks nobody.
package stripe

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
)

// Header carries the signature.
const Header = "Stripe-Signature"

// tolerance is how far a signature's time may lie from the server's clock, in
// either direction.
const tolerance = 5 * time.Minute

// The errors of Verify.
var (
	ErrNoSignature = errors.New("stripe: there is no signature")
	ErrSignature   = errors.New("stripe: the signature does not fit")
	ErrStale       = errors.New("stripe: the signature's time is more than five minutes off")
)

// Source is Stripe as the inbox knows it.
type Source struct{}

// Verify checks the header Stripe-Signature: one of its v1 must be the
// HMAC-SHA256 of "<t>.<body>" whose key is the whole secret, whsec_ included.
func (Source) Verify(secret string, header http.Header, body []byte, now clock.Time) error {
	return Verify(secret, header.Get(Header), body, now)
}

// Verify is Source.Verify for the value of the header alone. The time is looked
// at last, so that who has no secret learns nothing of it.
func Verify(secret, header string, body []byte, now clock.Time) error {
	t, signatures := parse(header)
	if t == "" || len(signatures) == 0 || secret == "" {
		return ErrNoSignature
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(t + "."))
	mac.Write(body)
	want, fits := mac.Sum(nil), false
	for _, s := range signatures {
		given, err := hex.DecodeString(s)
		fits = err == nil && hmac.Equal(given, want) || fits
	}
	if !fits {
		return ErrSignature
	}
	at, err := strconv.ParseInt(t, 10, 64)
	if err != nil {
		return ErrSignature
	}
	if off := now.Unix() - at; off > int64(tolerance/time.Second) || off < -int64(tolerance/time.Second) {
		return ErrStale
	}
	return nil
}

// maxSignatures bounds the work that a header can ask for. While a secret is
// rolled there are two.
const maxSignatures = 16

// parse reads t and every v1; v0 is of test events and fits nothing.
func parse(header string) (t string, signatures []string) {
	for pair := range strings.SplitSeq(header, ",") {
		switch name, value, _ := strings.Cut(strings.TrimSpace(pair), "="); {
		case name == "t" && t == "":
			t = value
		case name == "v1" && len(signatures) < maxSignatures:
			signatures = append(signatures, value)
		}
	}
	return t, signatures
}
