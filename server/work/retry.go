package work

import (
	"context"
	"math/rand/v2"
	"time"

	"rail/server/postgres/pgtx"
	"rail/server/problem"
)

// maxAttempts bounds how often work that lost a race is done.
const maxAttempts = 4

// Retry does work again that lost a race, a deadlock or a serialization
// conflict, of which nothing was kept. Work that keeps losing ends as one that
// may be tried again later.
func Retry(ctx context.Context, do func() error) error {
	for attempt := 1; ; attempt++ {
		err := do()
		switch {
		case err == nil || !pgtx.Again(err):
			return err
		case attempt == maxAttempts:
			return problem.Away(err)
		}
		pause(ctx, attempt)
	}
}

// pause lets the winner of a race finish; it ends early with the context.
func pause(ctx context.Context, attempt int) {
	t := time.NewTimer(time.Duration(rand.IntN(4*attempt*attempt)+1) * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
