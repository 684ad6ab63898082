package rules

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
)

// integer and number are JSON's grammars; a padded "007" is a code, not a number.
var (
	integer = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
	number  = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
)

// decimal has the parts of a JSON number for comparisons with an integer, of any size and precision: its whole
// units, whether it has a fraction, and whether the units exceed 19 digits.
type decimal struct {
	negative bool
	units    uint64
	fraction bool
	huge     bool
}

// decimalOf parses a number. It never expands an exponent, since metadata may contain 1e999999999.
func decimalOf(literal string) (d decimal) {
	literal, d.negative = strings.CutPrefix(literal, "-")
	d.units, d.fraction, d.huge = magnitudeOf(literal)
	return d
}

// compare returns -1, 0 or 1 if the number is below, equal to or above n. It is exact: a float64 would make
// neighbours of large numbers equal.
func (d *decimal) compare(n int64) int {
	if d.units == 0 && !d.fraction && !d.huge {
		return cmp.Compare(0, n)
	}
	if d.negative != (n < 0) {
		return sign(d.negative)
	}
	c := cmp.Compare(d.units, magnitude(n))
	if d.huge || c == 0 && d.fraction {
		c = 1
	}
	if d.negative {
		return -c
	}
	return c
}

// sign returns the result of comparing numbers whose signs differ.
func sign(negative bool) int {
	if negative {
		return -1
	}
	return 1
}

// magnitudeOf splits an unsigned number into its whole units and whether a fraction follows. huge reports that
// the units have more than 19 digits, and exceed every int64.
func magnitudeOf(literal string) (units uint64, fraction, huge bool) {
	digits, point := spread(literal)
	switch {
	case digits == "":
		return 0, false, false
	case point <= 0:
		return 0, true, false
	case point > 19:
		return 0, false, true
	case point >= int64(len(digits)):
		digits += strings.Repeat("0", int(point)-len(digits))
		units, _ = strconv.ParseUint(digits, 10, 64)
		return units, false, false
	}
	units, _ = strconv.ParseUint(digits[:point], 10, 64)
	return units, true, false
}

// spread returns the significant digits of an unsigned number, without zeros at either end, and how many of them
// precede the point.
func spread(literal string) (digits string, point int64) {
	mantissa, exponent := literal, int64(0)
	if i := strings.IndexAny(literal, "eE"); i >= 0 {
		// A range error leaves the nearest bound, which is sufficient here.
		e, _ := strconv.ParseInt(literal[i+1:], 10, 32)
		mantissa, exponent = literal[:i], e
	}
	before, after, _ := strings.Cut(mantissa, ".")
	digits = strings.TrimLeft(before+after, "0")
	point = int64(len(digits)-len(after)) + exponent
	return strings.TrimRight(digits, "0"), point
}
