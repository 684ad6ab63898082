package rules

import (
	"math"
	"math/bits"
)

// whole is 100 % in basis points.
const whole = 10000

// Percent returns bps basis points of base, both in minor units, rounded half
// up (decisions, 95). A negative base gives the negative of its magnitude's
// share, so a clawback takes back exactly what was given. A result beyond int64
// stops at its bounds; a negative bps counts as 0.
func Percent(base, bps int64) int64 {
	return ratio(base, max(bps, 0), whole)
}

// Base returns the amount in minor units that a percentage is taken of: the
// gross amount, less the tax where the program pays on net revenue
// (decisions, 94). Unknown tax counts as none.
func Base(amount int64, tax *int64, net bool) int64 {
	if !net || tax == nil {
		return amount
	}
	return amount - *tax
}

// RefundShare returns the part of a commission that a refund takes back, all in
// minor units: the rounded share of everything refunded until now, less what
// earlier parts took. The refund that leaves nothing of the sale takes the
// remainder, so the parts sum to the commission (decisions, 99 and 217).
//
// commission and sale are the amounts before any refund; refunded and taken
// exclude this refund.
func RefundShare(commission, sale, refunded, refund, taken int64) int64 {
	total := refunded + refund
	if total >= sale {
		return commission - taken
	}
	return ratio(commission, max(total, 0), sale) - taken
}

// ratio returns a*b/d rounded half away from zero, through 128 bits. b must not
// be negative and d must be positive. An odd d has no exact half, so dropping
// the fraction of d/2 changes no result.
func ratio(a, b, d int64) int64 {
	hi, lo := bits.Mul64(magnitude(a), uint64(b))
	lo, carry := bits.Add64(lo, uint64(d/2), 0)
	hi += carry
	return signed(quotient(hi, lo, uint64(d)), a < 0)
}

// quotient divides 128 bits by d and stops at the greatest int64.
func quotient(hi, lo, d uint64) uint64 {
	if hi >= d {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, d)
	return min(q, math.MaxInt64)
}

// signed gives a magnitude its sign.
func signed(n uint64, negative bool) int64 {
	if negative {
		return -int64(n)
	}
	return int64(n)
}

// magnitude returns |n|, of the least int64 as well.
func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}
