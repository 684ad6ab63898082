package work

import (
	"context"
	"math/rand/v2"
	"time"

	"rail/server/clock"
	"rail/server/postgres/pgtx"
)

// maxAttempts bounds the attempts of work that lost a race.
const maxAttempts = 4

// Retry repeats do after a lost race, a deadlock or a serialization conflict, each of which rolls it back. After
// maxAttempts it returns the last error; the request path then answers that the request may be repeated.
func Retry(ctx context.Context, do func() error) error {
	for attempt := 1; ; attempt++ {
		err := do()
		if err == nil || !pgtx.Again(err) || attempt == maxAttempts {
			return err
		}
		_ = clock.Wait(ctx, pause(attempt))
	}
}

// pause returns the wait for the winner of a race: a random time of at most 4, 16 or 36 milliseconds, so that
// two losers do not collide again.
func pause(attempt int) time.Duration {
	return time.Duration(rand.IntN(4*attempt*attempt)+1) * time.Millisecond
}
