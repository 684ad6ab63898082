// Package lenient tests readers of processors' events with bodies that lack, add or retype members: a reader must
// report members that it does not understand, and must never report wrong values.
package lenient

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/inbound/processor"
	"rail/server/locale/currency"
)

type object = map[string]any

// Reader reads the events of a processor.
type Reader = func(body []byte) (processor.Reading, error)

// Fuzz reads arbitrary bodies, beginning with samples, and checks that the same body always gives the same reading.
func Fuzz(f *testing.F, read Reader, samples ...[]byte) {
	f.Helper()
	for _, body := range samples {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r := checkReading(t, read, body)
		again, _ := read(body)
		require.Equal(t, r, again)
	})
}

// checkReading reads a body and checks the invariants of every reading.
func checkReading(t *testing.T, read Reader, body []byte) processor.Reading {
	t.Helper()
	r, err := read(body)
	if malformed := (processor.MalformedError{}); err != nil {
		require.ErrorAs(t, err, &malformed, string(body))
		require.NotEmpty(t, malformed.Member)
		require.Nil(t, r.Payment)
		return r
	}
	count := 0
	if p := r.Payment; p != nil {
		count++
		require.Positive(t, p.AmountMinor, string(body))
		require.True(t, p.TaxMinor >= 0 && p.TaxMinor <= p.AmountMinor, string(body))
		require.True(t, p.FeeMinor == nil || *p.FeeMinor >= 0 && *p.FeeMinor <= p.AmountMinor, string(body))
		require.True(t, currency.Valid(p.Currency) && p.Charge != "", string(body))
		require.True(t, r.At.IsZero() || !p.At.IsZero(), string(body))
	}
	if f := r.Refund; f != nil {
		count++
		require.True(t, f.LevelMinor >= 0 && (f.Currency == "" || currency.Valid(f.Currency)) && f.Charge != "", string(body))
	}
	if d := r.Dispute; d != nil {
		count++
		require.True(t, d.AmountMinor >= 0 && d.ID != "" && d.Charge != "" && d.Status != "", string(body))
	}
	if r.Coupon != nil {
		count++
		require.NotEmpty(t, r.Coupon.ID)
	}
	require.Equal(t, count == 0, r.Ignored != "", "either something is said, or why not: %s", body)
	require.LessOrEqual(t, count, 1)
	shown := r
	if r.Payment != nil {
		bare := *r.Payment
		bare.Metadata = nil // is kept as JSON, in which it may be said
		shown.Payment = &bare
	}
	text, err := json.Marshal(shown)
	require.NoError(t, err)
	require.NotContains(t, string(text), `\u0000`, "PostgreSQL takes no such text")
	return r
}

// Changes reads every sample, and then the sample with each member removed and retyped, one at a time.
func Changes(t *testing.T, read Reader, samples ...[]byte) {
	t.Helper()
	changes := 0
	instead := []any{
		nil, "", "x", "a\x00b", strings.Repeat("é", 300), 0, 7, -1, 1.5, json.Number("1e30"), json.Number("9223372036854775807"),
		true, []any{}, []any{nil}, []any{"x", 3, object{}}, object{}, object{"id": 5}, object{"data": "x"}, object{"data": []any{7}},
	}
	for _, body := range samples {
		require.NotEmpty(t, checkReading(t, read, body).Type)
		var e any
		require.NoError(t, json.Unmarshal(body, &e))
		each(e, func(put func(any), remove func()) {
			for _, v := range instead {
				put(v)
				changes++
				checkReading(t, read, marshal(t, e))
			}
			remove()
			checkReading(t, read, marshal(t, e))
		})
	}
	require.Greater(t, changes, 100*len(samples))
}

// each visits every member below v with functions that replace and remove it, and then restores it.
func each(v any, visit func(put func(any), remove func())) {
	switch v := v.(type) {
	case map[string]any:
		for k, was := range v {
			each(was, visit)
			visit(func(n any) { v[k] = n }, func() { delete(v, k) })
			v[k] = was
		}
	case []any:
		for i, was := range v {
			each(was, visit)
			visit(func(n any) { v[i] = n }, func() {})
			v[i] = was
		}
	}
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return b
}
