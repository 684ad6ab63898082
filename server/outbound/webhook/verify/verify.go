// Package verify checks, for receivers, that a webhook came from Rail. It needs only the standard library: copy
// it, or import it.
//
// Read the raw body and verify it before decoding:
//
//	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
//	...
//	if err := verify.Signature(r.Header, body, secret, time.Now()); err != nil {
//		http.Error(w, "bad signature", http.StatusBadRequest)
//		return
//	}
//
// Then answer with any 2xx within ten seconds, and drop events whose id you have seen: each is sent at least
// once.
package verify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Tolerance is the maximum difference between a timestamp and the receiver's clock.
const Tolerance = 5 * time.Minute

// The errors of Signature and Standard.
var (
	ErrMissing   = errors.New("verify: no signature")
	ErrMalformed = errors.New("verify: malformed signature")
	ErrExpired   = errors.New("verify: the timestamp is more than five minutes off")
	ErrMismatch  = errors.New("verify: invalid signature")
)

// Signature checks the Rail-Signature header: one of its v1 entries must be the HMAC-SHA256 of "<t>.<body>"
// whose key is the whole secret, including whsec_.
func Signature(h http.Header, body []byte, secret string, now time.Time) error {
	t, entries, err := parse(h.Values("Rail-Signature"))
	if err != nil {
		return err
	}
	if err := fresh(t, now); err != nil {
		return err
	}
	want := sum([]byte(secret), t+".", body)
	fits := false
	for _, e := range entries {
		mac, err := hex.DecodeString(e)
		fits = err == nil && hmac.Equal(mac, want) || fits
	}
	if !fits {
		return ErrMismatch
	}
	return nil
}

// parse parses a header: one t, and every v1.
func parse(values []string) (t string, entries []string, err error) {
	if len(values) == 0 || values[0] == "" {
		return "", nil, ErrMissing
	}
	if len(values) > 1 {
		return "", nil, ErrMalformed
	}
	for pair := range strings.SplitSeq(values[0], ",") {
		name, value, found := strings.Cut(strings.TrimPrefix(pair, " "), "=")
		switch {
		case !found || name == "t" && t != "":
			return "", nil, ErrMalformed
		case name == "t":
			t = value
		case name == "v1":
			entries = append(entries, value)
		}
	}
	if t == "" || len(entries) == 0 {
		return "", nil, ErrMalformed
	}
	return t, entries, nil
}

// Standard checks the headers of Standard Webhooks: one v1 entry of webhook-signature must be the base64 of the
// HMAC-SHA256 of "<id>.<timestamp>.<body>", whose key is the decoded base64 of the secret.
func Standard(h http.Header, body []byte, secret string, now time.Time) error {
	id, t := h.Get("webhook-id"), h.Get("webhook-timestamp")
	entries := strings.Fields(h.Get("webhook-signature"))
	if id == "" || t == "" || len(entries) == 0 {
		return ErrMissing
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return ErrMalformed
	}
	if err := fresh(t, now); err != nil {
		return err
	}
	want := sum(key, id+"."+t+".", body)
	fits := false
	for _, e := range entries {
		version, value, _ := strings.Cut(e, ",")
		raw, err := base64.StdEncoding.Strict().DecodeString(value)
		fits = version == "v1" && err == nil && hmac.Equal(raw, want) || fits
	}
	if !fits {
		return ErrMismatch
	}
	return nil
}

// fresh checks that a timestamp, digits only, is close to now: an old request may be a captured one.
func fresh(t string, now time.Time) error {
	if t == "" || strings.Trim(t, "0123456789") != "" {
		return ErrMalformed
	}
	at, err := strconv.ParseInt(t, 10, 64)
	if err != nil {
		return ErrMalformed
	}
	if off := now.Unix() - at; off > int64(Tolerance/time.Second) || off < -int64(Tolerance/time.Second) {
		return ErrExpired
	}
	return nil
}

// sum returns the HMAC-SHA256 of a prefix and a body.
func sum(key []byte, before string, body []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(before))
	h.Write(body)
	return h.Sum(nil)
}
