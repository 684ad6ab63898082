package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"rail/server/clock"
)

// lockFile takes an exclusive lock and returns the function that releases it. It
// waits until ctx ends. The kernel releases the lock of a process that dies.
func lockFile(ctx context.Context, path string) (unlock func() error, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f.Close, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
		}
		if err := clock.Wait(ctx, pollEvery); err != nil {
			return nil, errors.Join(fmt.Errorf("another process holds %s: %w", path, err), f.Close())
		}
	}
}
