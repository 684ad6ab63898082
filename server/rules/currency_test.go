package rules

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCurrency(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"USD", "EUR", "JPY", "XCG", "SLE", "ZWG", "VED", "XAU"} {
		require.True(t, ValidCurrency(code), code)
	}
	for _, code := range []string{"", "usd", "XXX", "XTS", "ZZZ", "HRK", "USDT", "US"} {
		require.False(t, ValidCurrency(code), code)
	}
	code, ok := NormalCurrency("uSd")
	require.True(t, ok)
	require.Equal(t, "USD", code)
	_, ok = NormalCurrency("xxx")
	require.False(t, ok)
	for code := range currencies {
		require.Regexp(t, `^[A-Z]{3}$`, code)
	}
}
