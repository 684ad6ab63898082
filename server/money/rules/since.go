package rules

import "rail/server/clock"

// sinceConversion measures from the conversion to the event. The first sale is
// the conversion, so it stands at 0 whatever is stored (decisions, 3.2).
func sinceConversion(f *Facts, between func(from, to clock.Time) int64) any {
	if f.Sale != nil && f.Sale.IsFirstSale {
		return int64(0)
	}
	return since(f.Customer.ConvertedAt, f.moment(), between)
}

func daysSinceLead(f *Facts) any {
	return since(f.Customer.LeadAt, f.moment(), daysBetween)
}

func since(from, to *clock.Time, between func(from, to clock.Time) int64) any {
	if from == nil || to == nil {
		return nil
	}
	return between(*from, *to)
}
