package rules

import (
	"fmt"
	"strconv"
)

// Unusual says in words what is unusual about a rate, as when percent were
// written for basis points; empty where nothing is. 0 is a way to say that
// nothing is paid (decisions, 231).
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
