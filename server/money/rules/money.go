package rules

import (
	"math"
	"math/bits"
)

// whole is 100 % in basis points.
const whole = 10000

// Percent returns bps basis points of base, both in minor units, rounded half up (decisions, 95). A negative
// base gives the negative result of its magnitude, so that a clawback takes back exactly the amount given. A
// result beyond int64 is clamped to its bounds; a negative bps counts as 0.
func Percent(base, bps int64) int64 {
	return ratio(base, max(bps, 0), whole)
}

// Base is the part of a sale that a percentage is taken of, as the API names it (decisions, 94).
type Base string

// The bases that a program can choose.
const (
	BaseGross          Base = "gross"
	BaseNetOfTax       Base = "net_of_tax"
	BaseNetOfTaxAndFee Base = "net_of_tax_and_fee"
)

// BaseOf returns the base from a program's row: without tax, and without tax and fee.
func BaseOf(net, netOfFee bool) Base {
	switch {
	case !net:
		return BaseGross
	case !netOfFee:
		return BaseNetOfTax
	}
	return BaseNetOfTaxAndFee
}

// Of returns the base of an amount, in minor units. An unknown tax or fee counts as none; a fee may exceed the
// amount without tax.
func (b Base) Of(amount int64, tax, fee *int64) int64 {
	if tax != nil && b != BaseGross {
		amount -= *tax
	}
	if fee != nil && b == BaseNetOfTaxAndFee {
		amount -= *fee
	}
	return max(amount, 0)
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

// quotient divides 128 bits by d, at most the greatest int64.
func quotient(hi, lo, d uint64) uint64 {
	if hi >= d {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, d)
	return min(q, math.MaxInt64)
}

// signed applies a sign to a magnitude.
func signed(n uint64, negative bool) int64 {
	if negative {
		return -int64(n)
	}
	return int64(n)
}

// magnitude returns |n|, also of the least int64.
func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}
