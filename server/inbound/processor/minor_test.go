package processor

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFromHundredths: the decimals are ISO 4217's, without rounding.
func TestFromHundredths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n    int64
		code string
		want int64
		ok   bool
	}{
		{1234, "USD", 1234, true}, {0, "JPY", 0, true}, {150000, "JPY", 1500, true}, {150, "JPY", 0, false},
		{150, "KWD", 1500, true}, {150, "CLF", 15000, true}, {-1, "EUR", -1, false}, {math.MaxInt64, "KWD", 0, false},
	} {
		n, ok := FromHundredths(c.n, c.code)
		require.Equal(t, c.ok, ok, c)
		if ok {
			require.Equal(t, c.want, n, c)
		}
	}
}
