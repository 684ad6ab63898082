package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"
)

// Tolerance is the maximum difference between a signature's time and the server's clock: clocks differ, and a
// captured request is usable for that long.
const Tolerance = 5 * time.Minute

// Reasons to refuse a Rail-Signature.
var (
	ErrSignature = errors.New("Rail-Signature does not match the body and this key")
	ErrExpired   = errors.New("Rail-Signature is more than five minutes from the server's clock")
)

// VerifySignature verifies a Rail-Signature header, `t=<unix seconds>,v1=<hex>`, of a request made with token.
// One matching v1 is enough; unknown pairs are ignored; exactly one t is required.
func VerifySignature(header, token string, body []byte, now time.Time) error {
	t, sums, ok := parseSignature(header)
	if !ok {
		return ErrSignature
	}
	seconds, err := strconv.ParseInt(t, 10, 64)
	if err != nil || !digits(t) {
		return ErrSignature
	}
	want := Sign(token, t, body)
	// All signatures are compared, so that the timing reveals nothing.
	matches := false
	for _, sum := range sums {
		matches = hmac.Equal(sum, want) || matches
	}
	if !matches {
		return ErrSignature
	}
	if age := now.Unix() - seconds; age > int64(Tolerance/time.Second) || age < -int64(Tolerance/time.Second) {
		return ErrExpired
	}
	return nil
}

// Sign returns the HMAC-SHA256 over `<t>.<body>` with the whole key.
func Sign(key, t string, body []byte) []byte {
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte(t))
	h.Write([]byte{'.'})
	h.Write(body)
	return h.Sum(nil)
}

// parseSignature returns the time as text, since the text is signed.
func parseSignature(header string) (t string, sums [][]byte, ok bool) {
	times := 0
	for pair := range strings.SplitSeq(header, ",") {
		name, value, found := strings.Cut(strings.TrimPrefix(pair, " "), "=")
		if !found {
			return "", nil, false
		}
		switch name {
		case "t":
			t = value
			times++
		case "v1":
			if sum, err := hex.DecodeString(value); err == nil && len(sum) == sha256.Size {
				sums = append(sums, sum)
			}
		}
	}
	return t, sums, times == 1 && len(sums) > 0
}

// digits refuses a sign, which ParseInt would accept.
func digits(s string) bool {
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return s != ""
}
