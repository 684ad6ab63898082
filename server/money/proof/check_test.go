package proof_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/prooftest"
	"rail/server/money/proof"
)

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
	s := prooftest.New(t, "part_1")
	first, second, third := parse(t, s.Issue()), parse(t, s.Issue()), parse(t, s.Issue())
	require.Empty(t, proof.Check(first, s.Keys, nil))
	require.Empty(t, proof.Check(second, s.Keys, &first))
	require.Empty(t, proof.Check(third, s.Keys, &second))
	requireFault(t, proof.ErrChain, proof.Check(third, s.Keys, &first))
	requireFault(t, proof.ErrChain, proof.Check(first, s.Keys, &second))
	other := second
	other.Statement = []byte(strings.Replace(string(second.Statement), "part_1", "part_2", 1))
	requireFault(t, proof.ErrChain, proof.Check(third, s.Keys, &other))
}

func TestCheckLines(t *testing.T) {
	t.Parallel()
	s := prooftest.New(t, "part_1")
	d := parse(t, s.Issue())
	n, err := d.FindOrder("order-1")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	n, err = d.FindOrder("order-2")
	require.NoError(t, err)
	require.Zero(t, n)
	none := d
	none.Lines = nil
	require.Empty(t, proof.Check(none, s.Keys, nil), "a document without lines")
	swapped := d
	swapped.Lines = append(swapped.Lines[1:2:2], swapped.Lines[0])
	requireFault(t, proof.ErrLines, proof.Check(swapped, s.Keys, nil))
	fewer := d
	fewer.Lines = fewer.Lines[:1]
	requireFault(t, proof.ErrLines, proof.Check(fewer, s.Keys, nil))
}

func TestCheckKeys(t *testing.T) {
	t.Parallel()
	s := prooftest.New(t, "part_1")
	d := parse(t, s.Issue())
	requireFault(t, proof.ErrKey, proof.Check(d, s.Keys[:1], nil))
	other := d
	other.KeyID = "stk_other"
	requireFault(t, proof.ErrSignature, proof.Check(other, s.Keys, nil))
	with := func(created, retired time.Time) []proof.Key {
		return []proof.Key{{ID: prooftest.KeyID, PublicKey: s.Keys[1].PublicKey, CreatedAt: created, RetiredAt: &retired}}
	}
	damaged := proof.Key{ID: prooftest.KeyID, PublicKey: "AAAA"}
	requireFault(t, proof.ErrUnchecked, proof.Check(d, []proof.Key{damaged}, nil))
	require.Empty(t, proof.Check(d, with(prooftest.Day(5), prooftest.Day(5)), nil), "valid for that moment")
	require.Empty(t, proof.Check(d, with(prooftest.Day(1), prooftest.Day(9)), nil), "retired later")
	requireFault(t, proof.ErrKeyTime, proof.Check(d, with(prooftest.Day(6), prooftest.Day(9)), nil))
	requireFault(t, proof.ErrKeyTime, proof.Check(d, with(prooftest.Day(1), prooftest.Day(4)), nil))
}

// TestEveryByteCounts changes every byte of a document: each change is a fault, or leaves statement, signature, key
// and lines as they were.
func TestEveryByteCounts(t *testing.T) {
	t.Parallel()
	s := prooftest.New(t, "part_1")
	first := parse(t, s.Issue())
	text := s.Issue()
	same := parse(t, text)
	for i := range text {
		for _, b := range []byte{text[i] ^ 1, text[i] ^ 0x20, '0', ' ', '"'} {
			changed := append([]byte{}, text...)
			changed[i] = b
			d, _, err := proof.Parse(changed)
			if b == text[i] || err != nil || len(proof.Check(d, s.Keys, &first)) > 0 {
				continue
			}
			if d.Lines == nil && strings.Contains(string(changed), `"lines":[`) {
				t.Errorf("byte %d as %q hides the lines", i, b)
			}
			require.JSONEq(t, string(same.Statement), string(d.Statement), "byte %d as %q", i, b)
			if d.Lines != nil {
				require.JSONEq(t, linesOf(same), linesOf(d), "byte %d as %q", i, b)
			}
		}
	}
}

func linesOf(d proof.Document) string {
	var all []string
	for _, l := range d.Lines {
		all = append(all, string(l))
	}
	return "[" + strings.Join(all, ",") + "]"
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
	require.Equal(t, "stk_1", keys.Keys[0].ID)
	require.False(t, keys.HasMore)
	for text, want := range map[string]string{`{}`: "member keys is missing", `{"keys":[]}`: "has no keys"} {
		_, err = proof.ParseKeys([]byte(text))
		require.ErrorContains(t, err, want)
	}
}

// TestCheckEach: documents are checked in any order, each partner's with the one before it.
func TestCheckEach(t *testing.T) {
	t.Parallel()
	s, other := prooftest.New(t, "part_1"), prooftest.New(t, "part_2")
	docs := []proof.Document{
		parse(t, s.Issue()), parse(t, other.Issue()), parse(t, s.Issue()), parse(t, s.Issue()), parse(t, other.Issue()),
	}
	slices.Reverse(docs)
	faults := func(docs ...proof.Document) (out [][]error) {
		for _, r := range proof.CheckEach(docs, s.Keys) {
			out = append(out, r.Faults)
		}
		return out
	}
	require.Equal(t, make([][]error, 5), faults(docs...))
	earlier := proof.CheckEach(docs, s.Keys)
	require.Equal(t, "R-2026-000002", earlier[1].Earlier)
	require.Empty(t, earlier[4].Earlier)
	gap := faults(docs[1], docs[4], docs[3])
	require.Len(t, gap[0], 1)
	require.ErrorIs(t, gap[0][0], proof.ErrChain)
	require.Empty(t, gap[1])
	require.Empty(t, gap[2], "of another partner")
	twice := faults(docs[1], docs[1])
	require.Equal(t, make([][]error, 2), twice, "the same document twice")
	bad := docs[1]
	bad.Statement = []byte("{}")
	require.ErrorIs(t, faults(docs[0], bad)[1][0], proof.ErrForm)
}
