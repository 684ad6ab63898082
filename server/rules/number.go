package rules

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
)

// integer and number are JSON's grammars; a padded "007" is a code, no number.
var (
	integer = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
	number  = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
)

// compareNumber compares a JSON number of any size and precision with n. It
// never expands an exponent, since metadata may hold 1e999999999.
func compareNumber(literal string, n int64) int {
	literal, negative := strings.CutPrefix(literal, "-")
	units, fraction, huge := magnitudeOf(literal)
	if units == 0 && !fraction && !huge {
		return cmp.Compare(0, n)
	}
	if negative != (n < 0) {
		return sign(negative)
	}
	c := cmp.Compare(units, magnitude(n))
	if huge || c == 0 && fraction {
		c = 1
	}
	if negative {
		return -c
	}
	return c
}

func sign(negative bool) int {
	if negative {
		return -1
	}
	return 1
}

// magnitudeOf splits an unsigned number into its whole units and whether more
// follows the point. huge tells that the units pass 19 digits.
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

// spread returns the significant digits of an unsigned number, without zeros at
// either end, and how many of them stand before the point.
func spread(literal string) (digits string, point int64) {
	mantissa, exponent := literal, int64(0)
	if i := strings.IndexAny(literal, "eE"); i >= 0 {
		// A range error leaves the nearest bound, which is as good here.
		e, _ := strconv.ParseInt(literal[i+1:], 10, 32)
		mantissa, exponent = literal[:i], e
	}
	before, after, _ := strings.Cut(mantissa, ".")
	digits = strings.TrimLeft(before+after, "0")
	point = int64(len(digits)-len(after)) + exponent
	return strings.TrimRight(digits, "0"), point
}
