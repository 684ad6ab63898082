// Package prooftest makes signed statements without a server.
package prooftest

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/money/proof"
)

// KeyID is the id of the key that signs. Keys has it after the key of another organization.
const KeyID = "stk_1"

// Issuer makes the statements of one partner.
type Issuer struct {
	testing.TB
	Partner string
	Keys    []proof.Key

	key    ed25519.PrivateKey
	last   *string
	issued int
}

// New returns an issuer of statements from October 2026 on.
func New(t testing.TB, partner string) *Issuer {
	key := ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", ed25519.SeedSize)))
	return &Issuer{TB: t, Partner: partner, key: key, Keys: []proof.Key{
		{ID: "stk_other", PublicKey: proof.PublicKey(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))},
		{ID: KeyID, PublicKey: proof.PublicKey(key), CreatedAt: Day(1)},
	}}
}

// Day returns a day of October 2026.
func Day(n int) time.Time { return time.Date(2026, 10, n, 0, 0, 0, 0, time.UTC) }

// Issue returns the text of the partner's next statement. The first is R-2026-000001 of the fifth day. The first line of
// each is of the order order-1; the second line has no order.
func (s *Issuer) Issue() []byte {
	s.Helper()
	s.issued++
	lines := []any{
		map[string]any{
			"commission_id": "com_1", "sale_id": "sale_1", "occurred_at": "2026-09-01T00:00:00.000Z",
			"order_hash": proof.OrderHash("salt", "order-1"), "amount_minor": 700, "currency": "EUR",
		},
		map[string]any{
			"commission_id": "com_2", "sale_id": nil, "occurred_at": "2026-09-02T00:00:00.000Z", "order_hash": nil,
			"amount_minor": -200, "currency": "EUR",
		},
	}
	sum := proof.NewDigest()
	for _, l := range lines {
		require.NoError(s, sum.AddLine(l))
	}
	canonical, err := proof.Canonical(map[string]any{
		"version": 1, "number": fmt.Sprintf("R-2026-%06d", s.issued), "issued_at": Day(4 + s.issued), "salt": "salt",
		"seller":        map[string]any{"name": "Café & Söhne <GmbH>", "address": "Hauptstraße 1\n10115 Berlin"},
		"program":       map[string]any{"id": "prg_1", "name": "Program"},
		"partner":       map[string]any{"id": s.Partner, "name": "Zoë 😀"},
		"payout":        map[string]any{"id": "pyt_1", "amount_minor": 500, "currency": "EUR"},
		"previous_hash": s.last, "lines_count": sum.Count(), "lines_hash": sum.Sum(),
	})
	require.NoError(s, err)
	hash := proof.Hash(canonical)
	s.last = &hash
	text, err := json.MarshalIndent(map[string]any{
		"object": "statement", "statement": json.RawMessage(canonical), "signature": proof.Sign(s.key, canonical),
		"key_id": KeyID, "lines": lines,
	}, "", "  ")
	require.NoError(s, err)
	return text
}

// KeysFile returns the text of the published keys.
func (s *Issuer) KeysFile() []byte {
	s.Helper()
	text, err := json.Marshal(proof.Keys{Keys: s.Keys})
	require.NoError(s, err)
	return text
}
