package currency

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCodes(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"USD", "EUR", "JPY", "XCG", "SLE", "ZWG", "VED", "XAU"} {
		require.True(t, Valid(code), code)
	}
	for _, code := range []string{"", "usd", "XXX", "XTS", "ZZZ", "HRK", "USDT", "US"} {
		require.False(t, Valid(code), code)
	}
	code, ok := Normal("uSd")
	require.True(t, ok)
	require.Equal(t, "USD", code)
	_, ok = Normal("xxx")
	require.False(t, ok)
	for code := range inUse {
		require.Regexp(t, `^[A-Z]{3}$`, code)
	}
}

func TestDecimal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		minor    int64
		currency string
		want     string
	}{
		{4999, "USD", "49.99"}, {5, "USD", "0.05"}, {0, "EUR", "0.00"}, {-5, "EUR", "-0.05"}, {100, "EUR", "1.00"},
		{1000, "JPY", "1000"}, {-7, "JPY", "-7"}, {1, "KWD", "0.001"}, {12345, "KWD", "12.345"}, {1, "CLF", "0.0001"},
		{999999999999, "USD", "9999999999.99"},
	} {
		require.Equal(t, c.want, Decimal(c.minor, c.currency))
	}
	for code := range minorDigits {
		require.True(t, Valid(code), code)
	}
}

func TestMinor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, code string
		minor      int64
		ok         bool
	}{
		{"49.99", "USD", 4999, true},
		{"49,9", "EUR", 4990, true},
		{"1000", "JPY", 1000, true},
		{"-3", "USD", -300, true},
		{".5", "USD", 50, true},
		{"-.5", "USD", -50, true},
		{"1.234", "KWD", 1234, true},
		{"1.5", "JPY", 0, false},
		{"1.234", "USD", 0, false},
		{"", "USD", 0, false},
		{".", "USD", 0, false},
		{"1.-2", "USD", 0, false},
		{"1,000.00", "USD", 0, false},
		{"92233720368547758.08", "USD", 0, false},
		{"abc", "USD", 0, false},
	} {
		minor, ok := Minor(c.text, c.code)
		if minor != c.minor || ok != c.ok {
			t.Errorf("%q %s: %d, %v", c.text, c.code, minor, ok)
		}
	}
}
