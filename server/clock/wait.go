package clock

import (
	"context"
	"time"
)

// Wait waits for d of the system time. It ends early with ctx, and returns the cause.
func Wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
