package rules

import "rail/server/clock"

// sinceConversion returns the time from the conversion to the event, in the unit of between. The first sale is
// the conversion, so its value is 0 whatever is stored (decisions, 3.2).
func sinceConversion(f *Facts, between func(from, to clock.Time) int64) any {
	if f.Sale != nil && f.Sale.IsFirstSale {
		return int64(0)
	}
	return since(f.Customer.ConvertedAt, f.moment(), between)
}

// daysSinceLead returns the days from the customer's sign-up to the event.
func daysSinceLead(f *Facts) any {
	return since(f.Customer.LeadAt, f.moment(), daysBetween)
}

// since returns nil, a missing value, unless both times are known.
func since(from, to *clock.Time, between func(from, to clock.Time) int64) any {
	if from == nil || to == nil {
		return nil
	}
	return between(*from, *to)
}
