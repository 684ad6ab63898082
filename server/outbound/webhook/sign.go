// Package webhook sends events to the endpoints of merchants and partners: signed, in order, one request at a
// time for each endpoint, at least once.
package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// SecretPrefix begins every signing secret.
const SecretPrefix = "whsec_"

// secretBytes is the length of a secret without prefix and base64.
const secretBytes = 32

// NewSecret returns a new signing secret, in the form of Standard Webhooks.
func NewSecret() string {
	b := make([]byte, secretBytes)
	_, _ = rand.Read(b) // never fails
	return SecretOf(b)
}

// SecretOf encodes 32 bytes as a signing secret.
func SecretOf(key []byte) string { return SecretPrefix + base64.StdEncoding.EncodeToString(key) }

// RailSignature returns the Rail-Signature header: one v1 for each secret, in order, each an HMAC of
// "<t>.<body>" with the secret's whole text as the key.
func RailSignature(at time.Time, body []byte, secrets ...string) string {
	t := strconv.FormatInt(at.Unix(), 10)
	var b strings.Builder
	b.WriteString("t=" + t)
	for _, s := range secrets {
		b.WriteString(",v1=" + hex.EncodeToString(mac([]byte(s), t, ".", string(body))))
	}
	return b.String()
}

// StandardSignature returns the webhook-signature header of Standard Webhooks: one entry for each secret, each
// an HMAC of "<id>.<t>.<body>" with the decoded base64 of the secret as the key.
func StandardSignature(id string, at time.Time, body []byte, secrets ...string) string {
	t := strconv.FormatInt(at.Unix(), 10)
	out := make([]string, 0, len(secrets))
	for _, s := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(s, SecretPrefix))
		if err != nil {
			continue // not made by NewSecret
		}
		out = append(out, "v1,"+base64.StdEncoding.EncodeToString(mac(key, id, ".", t, ".", string(body))))
	}
	return strings.Join(out, " ")
}

// mac returns the HMAC-SHA256 of the joined parts.
func mac(key []byte, parts ...string) []byte {
	h := hmac.New(sha256.New, key)
	for _, p := range parts {
		h.Write([]byte(p))
	}
	return h.Sum(nil)
}
