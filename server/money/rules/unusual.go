package rules

import (
	"fmt"
	"strconv"
)

// Unusual explains what is unusual about a rate, such as percent written as basis points; empty if nothing is. A
// rate of 0 is a valid way to pay nothing (decisions, 231).
func Unusual(r Rate) string {
	if r.RateType != RatePercent {
		return ""
	}
	percent := strconv.FormatFloat(float64(r.RateValue)/100, 'f', -1, 64)
	switch {
	case r.RateValue > 0 && r.RateValue < 100:
		return fmt.Sprintf("%d basis points are %s %%; %d %% are %d.", r.RateValue, percent, r.RateValue, r.RateValue*100)
	case r.RateValue > 10_000:
		return fmt.Sprintf("%d basis points are %s %%, more than the sale itself.", r.RateValue, percent)
	}
	return ""
}
