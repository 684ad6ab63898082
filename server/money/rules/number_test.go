package rules

import (
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rail/server/clock"
)

func compared(literal string, n int64) int {
	d := decimalOf(literal)
	return d.compare(n)
}

func TestCompareNumber(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		literal string
		n       int64
		want    int
	}{
		{"5", 5, 0}, {"5.0", 5, 0}, {"50e-1", 5, 0}, {"0.5e1", 5, 0}, {"5.1", 5, 1}, {"4.9", 5, -1},
		{"-0", 0, 0}, {"0e99", 0, 0}, {"0.1", 0, 1}, {"-0.1", 0, -1}, {"-5.1", -5, -1}, {"-4.9", -5, 1},
		{"1e999999999", 1 << 62, 1}, {"-1e999999999999999999999", -1 << 62, -1}, {"1e-999999999", 0, 1},
		{"1e-999999999", 1, -1},
		{"-5", 5, -1}, {"5", -5, 1}, {"9223372036854775808", 1<<63 - 1, 1}, {"-9223372036854775808", -1 << 63, 0},
	} {
		require.Equal(t, c.want, compared(c.literal, c.n), "%s with %d", c.literal, c.n)
	}
}

func TestCompareNumberAgainstRat(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		literal := rapid.StringMatching(`-?(0|[1-9][0-9]{0,8})(\.[0-9]{1,6})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "literal")
		x, ok := new(big.Rat).SetString(literal)
		require.True(t, ok)
		n := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-9, 9)).Draw(t, "n")
		if x.IsInt() && x.Num().IsInt64() && rapid.Bool().Draw(t, "same") {
			n = x.Num().Int64()
		}
		require.Equal(t, x.Cmp(new(big.Rat).SetInt64(n)), compared(literal, n), fmt.Sprint(literal, " ", n))
	})
}

func when(s string) clock.Time {
	t, _, err := clock.ParseDate(s)
	if err != nil {
		panic(s)
	}
	return t
}

func TestMonthsAndDays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to     string
		months, days int64
	}{
		{"2026-01-31", "2026-02-27", 0, 27}, {"2026-01-31", "2026-02-28", 1, 28}, {"2028-01-31", "2028-02-28", 0, 28},
		{"2028-01-31", "2028-02-29", 1, 29}, {"2026-01-15", "2027-01-14", 11, 364}, {"2026-01-15", "2027-01-15", 12, 365},
		{"2026-01-15T18:00:00Z", "2026-02-15T06:00:00Z", 1, 30}, {"2026-02-28", "2026-03-28", 1, 28},
		{"2026-05-01", "2026-04-01", 0, 0}, {"2026-01-01T12:00:00Z", "2026-01-02T11:59:59Z", 0, 0},
	} {
		require.Equal(t, c.months, monthsBetween(when(c.from), when(c.to)), "%s %s", c.from, c.to)
		require.Equal(t, c.days, daysBetween(when(c.from), when(c.to)), "%s %s", c.from, c.to)
	}
}

// A whole month has passed if counting months forward, cut to the length of each, does not pass the day.
func TestMonthsAgainstCounting(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		from := when("2020-01-01").Days(rapid.Int64Range(0, 800).Draw(t, "from"))
		to := from.Days(rapid.Int64Range(0, 1500).Draw(t, "days"))
		n := int64(0)
		for ; ; n++ {
			start := time.Date(from.Year(), from.Month()+time.Month(n+1), 1, 0, 0, 0, 0, time.UTC)
			next := start.AddDate(0, 0, min(from.Day(), start.AddDate(0, 1, -1).Day())-1)
			if next.After(to.Time) {
				break
			}
		}
		require.Equal(t, n, monthsBetween(from, to))
	})
}
