package rules

// RefundShare returns the part of a commission that a refund takes back, all in minor units: the rounded share
// of everything refunded until now, less the parts taken before. A refund of the whole rest of the sale takes
// the remainder, so the parts sum to the commission (decisions, 99 and 217).
//
// commission and sale are the amounts before any refund; refunded and taken exclude this refund.
func RefundShare(commission, sale, refunded, refund, taken int64) int64 {
	total := refunded + refund
	if total >= sale {
		return commission - taken
	}
	return ratio(commission, max(total, 0), sale) - taken
}

// Prorated returns n*part/whole, rounded half away from zero.
func Prorated(n, part, whole int64) int64 { return ratio(n, part, whole) }
