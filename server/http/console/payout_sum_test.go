package console

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/locale"
)

// TestTypedSum: the sum can be typed as the page shows it, in the format of any browser, or as a decimal number.
func TestTypedSum(t *testing.T) {
	t.Parallel()
	for _, accept := range []string{"en", "en-US", "de-DE", "de-AT", "de-CH", "fr-FR", "it-IT", "es-ES", "pt-PT", "ja"} {
		for code, minor := range map[string]int64{"EUR": 125000, "JPY": 125000, "USD": 95000} {
			shown := locale.Place(accept).Money(minor, code)
			got, ok := typedSum(shown, shown, minor, code)
			require.True(t, ok, accept)
			require.Equal(t, minor, got, "%s: %s", accept, shown)
		}
	}
	for typed, minor := range map[string]int64{"1250.00": 125000, "1,250.00 EUR": 125000, "1 250": 125000, "12.50": 1250} {
		got, ok := typedSum(typed, "1.250,00 EUR", 125000, "EUR")
		require.True(t, ok, typed)
		require.Equal(t, minor, got, typed)
	}
	_, ok := typedSum("much", "1.250,00 EUR", 125000, "EUR")
	require.False(t, ok)
}
