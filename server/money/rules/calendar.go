package rules

import (
	"time"

	"rail/server/clock"
)

// monthsBetween returns the whole calendar months from one time to a later one.
// A month is complete when the day of the month is reached, or the last day of
// a shorter month, whatever the hour (decisions, 204). A time before the start
// gives 0.
func monthsBetween(from, to clock.Time) int64 {
	y1, m1, d1 := from.UTC().Date()
	y2, m2, d2 := to.UTC().Date()
	months := int64(y2-y1)*12 + int64(m2-m1)
	if d2 < d1 && d2 < lastDay(y2, m2) {
		months--
	}
	return max(months, 0)
}

// lastDay returns the number of days in a month: day 0 of the next is its last.
func lastDay(year int, month time.Month) int {
	return time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// daysBetween returns the whole periods of 24 hours between two times, 0 where
// the second is earlier.
func daysBetween(from, to clock.Time) int64 {
	return int64(max(to.Sub(from.Time), 0) / (24 * time.Hour))
}
