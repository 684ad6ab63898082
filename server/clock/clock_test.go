package clock

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"2026-09-01T12:00:00Z": "2026-09-01T12:00:00.000Z", "2026-09-01T12:00:00+02:00": "2026-09-01T10:00:00.000Z",
		"2026-09-01T12:00:00.123456789Z": "2026-09-01T12:00:00.123Z", "2000-01-01T00:00:00Z": "2000-01-01T00:00:00.000Z",
		"2099-12-31T23:59:59Z": "2099-12-31T23:59:59.000Z", "2024-02-29T00:00:00-00:00": "2024-02-29T00:00:00.000Z",
	} {
		got, err := Parse(in)
		require.NoError(t, err, in)
		require.Equal(t, want, got.String())
	}
	for _, bad := range []string{
		"", "now", "infinity", "1767225600", "2026-09-01", "2026-02-30T00:00:00Z", "2025-02-29T00:00:00Z",
		"2026-09-01T12:00:60Z", "2026-09-01T24:00:00Z",
		"2026-09-01T12:00:00", "2026-09-01t12:00:00z", "2026-09-01T12:00:00z", "2026-09-01T12:00:00,5Z",
		"2026-09-01T12:00:00+24:00", "2026-09-01T2:00:00Z",
		"0000-01-01T00:00:00Z", "1999-12-31T23:59:59Z", "2100-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59",
		"10000-01-01T00:00:00Z", " 2026-09-01T12:00:00Z",
	} {
		_, err := Parse(bad)
		require.ErrorIs(t, err, ErrFormat, bad)
	}
}

func TestParseDate(t *testing.T) {
	t.Parallel()
	got, bare, err := ParseDate("2026-09-01")
	require.NoError(t, err)
	require.True(t, bare)
	require.Equal(t, "2026-09-01T00:00:00.000Z", got.String())
	_, bare, err = ParseDate("2026-09-01T01:00:00Z")
	require.NoError(t, err)
	require.False(t, bare)
	for _, bad := range []string{"2026-9-1", "2026-02-30", "1999-01-01", "2100-01-01", "today"} {
		_, _, err := ParseDate(bad)
		require.ErrorIs(t, err, ErrDate, bad)
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	var v struct{ At *Time }
	require.NoError(t, json.Unmarshal([]byte(`{"At":"2026-09-01T12:00:00.5Z"}`), &v))
	out, err := json.Marshal(v)
	require.NoError(t, err)
	require.JSONEq(t, `{"At":"2026-09-01T12:00:00.500Z"}`, string(out))
	require.NoError(t, json.Unmarshal([]byte(`{"At":null}`), &v))
	require.Nil(t, v.At)
	require.Error(t, json.Unmarshal([]byte(`{"At":5}`), &v))
}

func TestManual(t *testing.T) {
	t.Parallel()
	m := NewManual(time.Date(2026, 9, 1, 0, 0, 0, 1, time.UTC))
	m.Advance(time.Hour)
	require.Equal(t, "2026-09-01T01:00:00.000Z", m.Now().String())
	require.Equal(t, "2026-09-03T01:00:00.000Z", m.Now().Days(2).String())
	m.Set(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	require.Equal(t, "2026-01-01T00:00:00.000Z", m.Now().String())
}

func FuzzParse(f *testing.F) {
	f.Add("2026-09-01T12:00:00Z")
	f.Fuzz(func(t *testing.T, s string) {
		got, err := Parse(s)
		if err != nil {
			return
		}
		if again, err := Parse(got.String()); err != nil ||
			again.Truncate(time.Millisecond) != got.Truncate(time.Millisecond) {
			t.Fatalf("%q: %s, %v", s, got, err)
		}
	})
}
