package webhook

import (
	"time"

	"rail/server/clock"
)

// MaxAttempts is how often a delivery is tried.
const MaxAttempts = 8

// AtOnce is when a first attempt is due: before the time of any clock, so that no
// event waits for a clock that is behind the one of its writer.
var AtOnce = clock.At(time.Unix(0, 0))

// waits are the least times from one attempt to the next: a receiver that is back
// within the hour loses little time, and one that is down for a weekend nothing.
var waits = [MaxAttempts - 1]time.Duration{
	time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 12 * time.Hour, 24 * time.Hour, 24 * time.Hour,
}

// Next returns when to try a delivery again after attempt number n (from 1) failed:
// at the first minute 1 or 31 of an hour that is not before the least wait. ok is
// false after the last attempt.
func Next(n int, attempted clock.Time) (next clock.Time, ok bool) {
	if n >= MaxAttempts {
		return clock.Time{}, false
	}
	least := attempted.Add(waits[n-1])
	at := least.Truncate(time.Hour).Add(time.Minute)
	for at.Before(least) {
		at = at.Add(30 * time.Minute)
	}
	return clock.At(at), true
}
