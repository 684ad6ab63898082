package processor

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

// Signature describes a header that signs the body and the time: pairs of a name and a value, with the time in
// Unix seconds and the HMAC-SHA256 of time and body in hex.
type Signature struct {
	Between string // separates the pairs
	Time    string // name of the pair with the time
	Sum     string // name of the pairs with a signature
	Joint   string // between the time and the body
}

// tolerance is the maximum difference between a signature's time and the server's clock.
const tolerance = 5 * time.Minute

// maxSums bounds the work that a header can cause. While a secret is rolled there are two signatures.
const maxSums = 16

// The errors of Signature.Verify.
var (
	ErrNoSignature = errors.New("processor: no signature")
	ErrSignature   = errors.New("processor: invalid signature")
	ErrStale       = errors.New("processor: the signature's time is more than five minutes off")
)

// Verify returns nil if one of the header's signatures was made with secret. The time is checked last, so that a
// sender without the secret learns nothing about it.
func (s Signature) Verify(secret, header string, body []byte, now clock.Time) error {
	t, sums := s.parse(header)
	if t == "" || len(sums) == 0 || secret == "" {
		return ErrNoSignature
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(t + s.Joint))
	mac.Write(body)
	want, fits := mac.Sum(nil), false
	for _, sum := range sums {
		got, err := hex.DecodeString(sum)
		fits = err == nil && hmac.Equal(got, want) || fits
	}
	if !fits {
		return ErrSignature
	}
	return checkTime(t, now)
}

// Head returns an error if a header has no signature, or one with another time.
func (s Signature) Head(header string, now clock.Time) error {
	t, sums := s.parse(header)
	if t == "" || len(sums) == 0 {
		return ErrNoSignature
	}
	return checkTime(t, now)
}

// StandardHead is Signature.Head for the headers of Standard Webhooks.
func StandardHead(h http.Header, now clock.Time) error {
	t := h.Get("webhook-timestamp")
	if t == "" || h.Get("webhook-id") == "" || h.Get("webhook-signature") == "" {
		return ErrNoSignature
	}
	return checkTime(t, now)
}

// checkTime checks that a time in Unix seconds is close to now.
func checkTime(t string, now clock.Time) error {
	at, err := strconv.ParseInt(t, 10, 64)
	if err != nil {
		return ErrSignature
	}
	if off := now.Unix() - at; off > int64(tolerance/time.Second) || off < -int64(tolerance/time.Second) {
		return ErrStale
	}
	return nil
}

// parse reads the first time and every signature; it skips other pairs.
func (s Signature) parse(header string) (t string, sums []string) {
	for pair := range strings.SplitSeq(header, s.Between) {
		switch name, value, _ := strings.Cut(strings.TrimSpace(pair), "="); {
		case name == s.Time && t == "":
			t = value
		case name == s.Sum && len(sums) < maxSums:
			sums = append(sums, value)
		}
	}
	return t, sums
}
