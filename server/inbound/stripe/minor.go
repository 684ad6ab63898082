package stripe

import (
	"math"
	"math/bits"

	"rail/server/currency"
	"rail/server/inbound/loose"
)

// Stripe's minor unit is that of ISO 4217, which Rail has, but for three
// currencies: krónur and Ugandan shillings have no cents and are sent in
// hundredths, ariary have hundredths and are sent whole.
var (
	inHundredths = map[string]bool{"ISK": true, "UGX": true}
	sentWhole    = map[string]bool{"MGA": true}
)

// minor returns an amount of Stripe's in Rail's minor units. It refuses what is
// below zero, and hundredths of what has none.
func minor(amount loose.Int, code string) (int64, bool) {
	n := amount.N
	switch {
	case !amount.OK || n < 0:
		return 0, false
	case inHundredths[code]:
		return n / 100, n%100 == 0
	case sentWhole[code]:
		return n * 100, n <= math.MaxInt64/100
	}
	return n, true
}

// nearest is minor for what is computed and not charged, as taxes: it rounds half
// up, and takes what is absent or below zero for nothing.
func nearest(amount loose.Int, code string) int64 {
	if amount.OK && inHundredths[code] && amount.N < math.MaxInt64-50 {
		amount.N = (amount.N + 50) / 100 * 100
	}
	n, ok := minor(amount, code)
	if !ok {
		return 0
	}
	return n
}

// code returns Stripe's currency, which is in lower case, as ISO 4217 has it.
func code(given loose.Text) (string, bool) { return currency.Normal(string(given)) }

// share returns n·part/whole rounded half up, or zero if it has no sense: what is
// computed with it is a tax, which is nothing rather than wrong.
func share(n, part, whole int64) int64 {
	if n <= 0 || part <= 0 || whole <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(n), uint64(part))
	lo, carry := bits.Add64(lo, uint64(whole)/2, 0)
	if hi += carry; hi >= uint64(whole) {
		return 0
	}
	quotient, _ := bits.Div64(hi, lo, uint64(whole))
	if quotient > math.MaxInt64 {
		return 0
	}
	return int64(quotient)
}
