package proof_test

import (
	"crypto/ed25519"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/money/proof"
)

// signer makes signed statements of one partner.
type signer struct {
	key  ed25519.PrivateKey
	keys []proof.Key
	last *string
}

func newSigner() *signer {
	key := ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", ed25519.SeedSize)))
	return &signer{key: key, keys: []proof.Key{
		{ID: "stk_other", PublicKey: proof.PublicKey(ed25519.NewKeyFromSeed(make([]byte, 32)))},
		{ID: "stk_1", PublicKey: proof.PublicKey(key), CreatedAt: day(1)},
	}}
}

func day(n int) time.Time { return time.Date(2026, 10, n, 0, 0, 0, 0, time.UTC) }

// issue returns the text of the next statement, with two lines.
func (s *signer) issue(t *testing.T, number string) []byte {
	t.Helper()
	lines := []any{
		map[string]any{"commission_id": "com_1", "order_hash": proof.OrderHash("salt", "order-1"), "amount_minor": 700},
		map[string]any{"commission_id": "com_2", "order_hash": nil, "amount_minor": -200},
	}
	sum := proof.NewDigest()
	for _, l := range lines {
		require.NoError(t, sum.AddLine(l))
	}
	canonical, err := proof.Canonical(map[string]any{
		"version": 1, "number": number, "issued_at": day(5), "salt": "salt", "previous_hash": s.last,
		"partner":     map[string]any{"id": "part_1", "name": "Zoë <z@example.com>"},
		"payout":      map[string]any{"amount_minor": 500, "currency": "EUR"},
		"lines_count": sum.Count(), "lines_hash": sum.Sum(),
	})
	require.NoError(t, err)
	hash := proof.Hash(canonical)
	s.last = &hash
	text, err := json.Marshal(map[string]any{
		"object": "statement", "statement": json.RawMessage(canonical), "signature": proof.Sign(s.key, canonical),
		"key_id": "stk_1", "lines": lines,
	})
	require.NoError(t, err)
	return text
}

func parse(t *testing.T, text []byte) proof.Document {
	t.Helper()
	d, _, err := proof.Parse(text)
	require.NoError(t, err)
	return d
}

// requireFault requires exactly one fault of a kind.
func requireFault(t *testing.T, want error, faults []error) {
	t.Helper()
	require.Len(t, faults, 1)
	require.ErrorIs(t, faults[0], want)
}

func TestCheckChain(t *testing.T) {
	t.Parallel()
	s := newSigner()
	first, second, third := parse(t, s.issue(t, "R-1")), parse(t, s.issue(t, "R-2")), parse(t, s.issue(t, "R-3"))
	require.Empty(t, proof.Check(first, s.keys, nil))
	require.Empty(t, proof.Check(second, s.keys, &first))
	require.Empty(t, proof.Check(third, s.keys, &second))
	requireFault(t, proof.ErrChain, proof.Check(third, s.keys, &first))
	requireFault(t, proof.ErrChain, proof.Check(first, s.keys, &second))
	other := second
	other.Statement = []byte(strings.Replace(string(second.Statement), "part_1", "part_2", 1))
	requireFault(t, proof.ErrChain, proof.Check(third, s.keys, &other))
}

func TestCheckLines(t *testing.T) {
	t.Parallel()
	s := newSigner()
	d := parse(t, s.issue(t, "R-1"))
	n, err := d.FindOrder("order-1")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	n, err = d.FindOrder("order-2")
	require.NoError(t, err)
	require.Zero(t, n)
	none := d
	none.Lines = nil
	require.Empty(t, proof.Check(none, s.keys, nil), "a document without lines")
	swapped := d
	swapped.Lines = append(swapped.Lines[1:2:2], swapped.Lines[0])
	requireFault(t, proof.ErrLines, proof.Check(swapped, s.keys, nil))
	fewer := d
	fewer.Lines = fewer.Lines[:1]
	requireFault(t, proof.ErrLines, proof.Check(fewer, s.keys, nil))
}

func TestCheckKeys(t *testing.T) {
	t.Parallel()
	s := newSigner()
	d := parse(t, s.issue(t, "R-1"))
	requireFault(t, proof.ErrKey, proof.Check(d, s.keys[:1], nil))
	other := d
	other.KeyID = "stk_other"
	requireFault(t, proof.ErrSignature, proof.Check(other, s.keys, nil))
	with := func(created, retired time.Time) []proof.Key {
		return []proof.Key{{ID: "stk_1", PublicKey: s.keys[1].PublicKey, CreatedAt: created, RetiredAt: &retired}}
	}
	require.Empty(t, proof.Check(d, with(day(5), day(5)), nil), "valid for that moment")
	require.Empty(t, proof.Check(d, with(day(1), day(9)), nil), "retired later")
	requireFault(t, proof.ErrKeyTime, proof.Check(d, with(day(6), day(9)), nil))
	requireFault(t, proof.ErrKeyTime, proof.Check(d, with(day(1), day(4)), nil))
}

// TestEveryByteCounts changes every byte of a document: each change is a fault, or leaves statement, signature, key
// and lines as they were.
func TestEveryByteCounts(t *testing.T) {
	t.Parallel()
	s := newSigner()
	first := parse(t, s.issue(t, "R-1"))
	text := s.issue(t, "R-2")
	same := parse(t, text)
	for i := range text {
		for _, b := range []byte{text[i] ^ 1, text[i] ^ 0x20, '0', ' ', '"'} {
			changed := append([]byte{}, text...)
			changed[i] = b
			d, _, err := proof.Parse(changed)
			if b == text[i] || err != nil || len(proof.Check(d, s.keys, &first)) > 0 {
				continue
			}
			if d.Lines == nil && strings.Contains(string(changed), `"lines":[`) {
				t.Errorf("byte %d as %q hides the lines", i, b)
			}
			require.JSONEq(t, string(same.Statement), string(d.Statement), "byte %d as %q", i, b)
			if d.Lines != nil {
				require.Equal(t, linesOf(same), linesOf(d), "byte %d as %q", i, b)
			}
		}
	}
}

func linesOf(d proof.Document) (out []string) {
	for _, l := range d.Lines {
		out = append(out, string(l))
	}
	return out
}

func TestParseRefusals(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		``, `[]`, `{}`, `{"statement":5}`, `{"statement":{}}`, `{"statement":{"version":1}}`, `{"statement":null}`,
		`{"statement":{"version":1,"version":1,"number":"R","issued_at":"2026-10-05T00:00:00Z"}}`,
		`{"statement":{"version":2,"number":"R","issued_at":"2026-10-05T00:00:00Z"}}`,
	} {
		_, _, err := proof.Parse([]byte(bad))
		require.ErrorIs(t, err, proof.ErrForm, bad)
	}
	_, err := proof.ParseKeys([]byte(`{"keys":[]}`))
	require.Error(t, err)
	_, err = proof.ParseKeys([]byte(`<html>`))
	require.Error(t, err)
	keys, err := proof.ParseKeys([]byte(`{"keys":[{"id":"stk_1","public_key":"","created_at":"2026-10-01T00:00:00Z",` +
		`"retired_at":null,"organization":"Acme"}]}`))
	require.NoError(t, err)
	require.Equal(t, "stk_1", keys[0].ID)
}
