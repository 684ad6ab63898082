// Package auth creates, recognizes and checks API keys.
package auth

import (
	"crypto/rand"
	"hash/crc32"
	"strings"
)

// Scopes is the closed list of a key's scopes.
var Scopes = []string{"read", "write", "partners:write", "commissions:write", ScopePayouts, "webhooks:write"}

// ScopePayouts allows payouts and their confirmation.
const ScopePayouts = "payouts:write"

// DefaultRateLimit is a key's default limit of requests a second.
const DefaultRateLimit = 25

// Key is an API key with the fields that requests need.
type Key struct {
	Actor

	Live            bool
	RateLimit       int // requests a second
	SigningRequired bool
	Revoked         bool
}

// Every key begins with one of these.
const (
	livePrefix = "rail_live_"
	testPrefix = "rail_test_"
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// A key is its prefix, 32 random characters (190 bits) and a checksum of 6, by which scanners and people notice
// a damaged key, and the server a random one.
const (
	randomLength   = 32
	checksumLength = 6
)

// NewToken returns a new API key.
func NewToken(live bool) string {
	prefix := testPrefix
	if live {
		prefix = livePrefix
	}
	body := prefix + random62(randomLength)
	return body + checksum(body)
}

// Plausible reports whether a token has the form of a key, including the checksum.
func Plausible(token string) bool {
	body := len(token) - checksumLength
	return body == len(livePrefix)+randomLength && (strings.HasPrefix(token, livePrefix) || IsTest(token)) &&
		token[body:] == checksum(token[:body])
}

// IsTest reports whether a token is a test key.
func IsTest(token string) bool { return strings.HasPrefix(token, testPrefix) }

// NewSlug returns n random characters for a public short name.
func NewSlug(n int) string { return random62(n) }

// random62 draws characters without bias: bytes of 248 and above are redrawn.
func random62(n int) string {
	var b strings.Builder
	buf := make([]byte, n)
	for b.Len() < n {
		_, _ = rand.Read(buf) // never fails: crypto/rand aborts the program instead
		for _, c := range buf {
			if c < 248 && b.Len() < n {
				b.WriteByte(base62[c%62])
			}
		}
	}
	return b.String()
}

func checksum(s string) string {
	sum := crc32.ChecksumIEEE([]byte(s))
	out := []byte("000000")
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = base62[sum%62]
		sum /= 62
	}
	return string(out)
}
