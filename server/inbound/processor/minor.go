package processor

import (
	"math"

	"rail/server/locale/currency"
)

// FromHundredths converts hundredths of a currency's unit to minor units, whatever decimals the currency has. It
// refuses negative amounts and fractions of the minor unit.
func FromHundredths(n int64, code string) (int64, bool) {
	digits := currency.Digits(code)
	for ; digits > 2; digits-- {
		if n > math.MaxInt64/10 {
			return 0, false
		}
		n *= 10
	}
	for ; digits < 2; digits++ {
		if n%10 != 0 {
			return 0, false
		}
		n /= 10
	}
	return n, n >= 0
}
