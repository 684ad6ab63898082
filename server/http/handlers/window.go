package handlers

import (
	"time"

	"rail/server/clock"
	"rail/server/problem"
)

// window parses a range of days or moments, both ends included: a date as its end means the end of
// that day (decisions, 29).
func window(from, to string) (start, end clock.Time, err error) {
	start, _, err = clock.ParseDate(from)
	if err != nil {
		return start, end, problem.Invalid("from", "from %s.", err)
	}
	end, bare, err := clock.ParseDate(to)
	if err != nil {
		return start, end, problem.Invalid("to", "to %s.", err)
	}
	// Times have microseconds, so this is the last one of the day.
	if bare {
		end = end.Plus(24*time.Hour - time.Microsecond)
	}
	if end.Before(start.Time) {
		return start, end, problem.Invalid("to", "to must not be before from.")
	}
	return start, end, nil
}
