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

// Signature is how a header signs a body together with the time: pairs of a name
// and a value, of which one is the time in Unix seconds, and others are the
// HMAC-SHA256 of time and body in hex.
type Signature struct {
	Between string // the pairs
	Time    string // the name of the pair that has the time
	Sum     string // and of those that have a sum
	Joint   string // between the time and the body
}

// tolerance is how far a signature's time may lie from the server's clock, in
// either direction.
const tolerance = 5 * time.Minute

// maxSums bounds the work that a header can ask for. While a secret is rolled there
// are two.
const maxSums = 16

// The errors of Signature.Verify.
var (
	ErrNoSignature = errors.New("processor: there is no signature")
	ErrSignature   = errors.New("processor: the signature does not fit")
	ErrStale       = errors.New("processor: the signature's time is more than five minutes off")
)

// Verify reports nil if one of the header's sums was made with secret. The time is
// looked at last, so that who has no secret learns nothing of it.
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
		given, err := hex.DecodeString(sum)
		fits = err == nil && hmac.Equal(given, want) || fits
	}
	if !fits {
		return ErrSignature
	}
	return fresh(t, now)
}

// Head reports an error if there is no signature in a header, or one of another time.
func (s Signature) Head(header string, now clock.Time) error {
	t, sums := s.parse(header)
	if t == "" || len(sums) == 0 {
		return ErrNoSignature
	}
	return fresh(t, now)
}

// StandardHead is Signature.Head for the headers of Standard Webhooks.
func StandardHead(h http.Header, now clock.Time) error {
	t := h.Get("webhook-timestamp")
	if t == "" || h.Get("webhook-id") == "" || h.Get("webhook-signature") == "" {
		return ErrNoSignature
	}
	return fresh(t, now)
}

// fresh checks that a time in Unix seconds is near enough to now.
func fresh(t string, now clock.Time) error {
	at, err := strconv.ParseInt(t, 10, 64)
	if err != nil {
		return ErrSignature
	}
	if off := now.Unix() - at; off > int64(tolerance/time.Second) || off < -int64(tolerance/time.Second) {
		return ErrStale
	}
	return nil
}

// parse reads the first time and every sum; pairs of other names are nobody's.
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
