// Package proof signs statements and checks signed ones. It needs no database: the server, `rail verify` and
// `rail audit` share it, and the page /verify and the guide's scripts repeat its rules.
//
// A statement is signed over its canonical JSON (RFC 8785). It contains the hash of its lines, and the hash of the
// statement before it of the same partner.
package proof

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// largest is the largest integer that every JSON parser reads exactly (RFC 7493, 2.2).
const largest = 1<<53 - 1

// Canonical returns the canonical JSON of a value.
func Canonical(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("proof: %w", err)
	}
	return Canonicalize(text)
}

// Canonicalize returns the canonical form of a JSON text. It refuses a text that parsers may read differently:
// names that occur twice, invalid UTF-8, and integers that a double cannot contain exactly.
func Canonicalize(text []byte) ([]byte, error) {
	v := jsontext.Value(text).Clone()
	if err := exact(v); err != nil {
		return nil, err
	}
	if err := v.Canonicalize(); err != nil {
		return nil, fmt.Errorf("proof: %w", err)
	}
	return v, nil
}

// exact refuses a text with an integer that canonicalization would round.
func exact(text []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(text))
	for {
		token, err := d.ReadToken()
		if err != nil {
			return nil //nolint:nilerr // the end, or an invalid text, which canonicalization refuses
		}
		if number := token.String(); token.Kind() == '0' && !strings.ContainsAny(number, ".eE") {
			if n, err := strconv.ParseInt(number, 10, 64); err != nil || n > largest || n < -largest {
				return fmt.Errorf("proof: the integer %s is not exact in JSON", number)
			}
		}
	}
}

// Hash returns the SHA-256 of canonical bytes in hexadecimal digits.
func Hash(canonical []byte) string {
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}

// Sign returns the signature of canonical bytes in base64.
func Sign(key ed25519.PrivateKey, canonical []byte) string {
	return base64.StdEncoding.EncodeToString(ed25519.Sign(key, canonical))
}

// Verify reports whether a signature in base64 belongs to canonical bytes and a public key in base64.
func Verify(publicKey string, canonical []byte, signature string) bool {
	key, signed := decode(publicKey), decode(signature)
	return len(key) == ed25519.PublicKeySize && ed25519.Verify(key, canonical, signed)
}

// decode returns the bytes of a base64 text, or nil for any text other than their encoding. Go's decoder also skips
// line feeds.
func decode(text string) []byte {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil || base64.StdEncoding.EncodeToString(b) != text {
		return nil
	}
	return b
}

// PublicKey returns the public half of a key in base64.
func PublicKey(key ed25519.PrivateKey) string {
	return base64.StdEncoding.EncodeToString(key[ed25519.SeedSize:])
}

// OrderHash returns the hash by which the holder of a receipt finds its line. Without the order id it reveals
// nothing: the salt differs between statements.
func OrderHash(salt, orderID string) string { return Hash([]byte(salt + ":" + orderID)) }

// Digest is the hash of a list of texts, each followed by a line feed. It holds one text at a time, so that a list
// can be of any length.
//
// The hash of a statement's lines is the digest of their canonical bytes. The root of a month is the digest of its
// statements' hashes in order of number, which is the SHA-256 of the published file of the month: `sha256sum`
// checks it. A Merkle tree would only serve a reader who does not fetch that file.
type Digest struct {
	sum   hash.Hash
	count int
}

// NewDigest returns the digest of an empty list.
func NewDigest() *Digest { return &Digest{sum: sha256.New()} }

// Add appends a text to the list.
func (d *Digest) Add(text []byte) {
	d.sum.Write(text)
	d.sum.Write([]byte{'\n'})
	d.count++
}

// AddLine appends the canonical bytes of a line of a statement.
func (d *Digest) AddLine(line any) error {
	text, err := Canonical(line)
	if err == nil {
		d.Add(text)
	}
	return err
}

// Count returns the length of the list.
func (d *Digest) Count() int { return d.count }

// Sum returns the digest in hexadecimal digits.
func (d *Digest) Sum() string { return hex.EncodeToString(d.sum.Sum(nil)) }

// Root returns the root of a month from the hashes of its statements in order of number.
func Root(hashes []string) string {
	d := NewDigest()
	for _, h := range hashes {
		d.Add([]byte(h))
	}
	return d.Sum()
}
