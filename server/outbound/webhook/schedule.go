package webhook

import (
	"time"

	"rail/server/clock"
)

// MaxAttempts is the number of attempts for a delivery.
const MaxAttempts = 8

// AtOnce is when a first attempt is due: before the time of any clock, so that no event waits for a slow clock.
var AtOnce = clock.At(time.Unix(0, 0))

// waits are the minimum times between attempts: a receiver that is back within the hour loses little time, and
// a weekend of downtime loses no event.
var waits = [MaxAttempts - 1]time.Duration{
	time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 12 * time.Hour, 24 * time.Hour, 24 * time.Hour,
}

// slot is the time between the minutes of an hour at which retries are due.
const slot = 30 * time.Minute

// Next returns when to retry a delivery after attempt number n (from 1) failed: at the first minute 1 or 31 of
// an hour after the minimum wait. ok is false after the last attempt.
func Next(n int, attempted clock.Time) (next clock.Time, ok bool) {
	if n >= MaxAttempts {
		return clock.Time{}, false
	}
	wait := waits[n-1]
	if wait >= slot { // a retry at minute 1 fails some milliseconds later, and its wait ends at such a minute
		attempted = clock.At(attempted.Truncate(time.Minute))
	}
	least := attempted.Add(wait)
	at := least.Truncate(time.Hour).Add(time.Minute)
	for at.Before(least) {
		at = at.Add(slot)
	}
	return clock.At(at), true
}
