package work

import (
	"context"
	"math/rand/v2"
	"time"

	"rail/server/clock"
	"rail/server/postgres/pgtx"
)

// maxAttempts bounds how often work that lost a race is done.
const maxAttempts = 4

// Retry runs do again if it lost a race, a deadlock or a serialization conflict,
// after which nothing of it was kept. If it loses maxAttempts times, Retry returns
// its last error; the request path answers that the request may be repeated.
func Retry(ctx context.Context, do func() error) error {
	for attempt := 1; ; attempt++ {
		err := do()
		if err == nil || !pgtx.Again(err) || attempt == maxAttempts {
			return err
		}
		_ = clock.Wait(ctx, pause(attempt))
	}
}

// pause is how long the winner of a race may take to finish: a random time of at
// most 4, 16 or 36 milliseconds, so that two losers do not meet again.
func pause(attempt int) time.Duration {
	return time.Duration(rand.IntN(4*attempt*attempt)+1) * time.Millisecond
}
