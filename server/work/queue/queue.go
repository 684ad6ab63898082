// Package queue lets several workers process the due items of a table, such as events of processors or mails.
package queue

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"rail/server/clock"
)

// poll is how often an idle worker checks for items while others are busy.
const poll = 500 * time.Millisecond

// Queue is a table with due items.
type Queue[T any] struct {
	Workers int
	Clock   clock.Clock
	// Claim reserves due items for one worker, and returns none if none is due. One worker claims at a time.
	Claim func(ctx context.Context, now clock.Time) ([]T, error)
	// Work processes claimed items. An error or a panic ends the worker, not the others.
	Work func(ctx context.Context, items []T) error
}

// Run processes items until none is due and no worker is busy, since an item may make others due. When ctx ends,
// it stops claiming. It returns the first error.
func (q Queue[T]) Run(ctx context.Context) error {
	r := &run[T]{Queue: q}
	var group errgroup.Group
	for range q.Workers {
		group.Go(func() error { return r.worker(ctx) })
	}
	return group.Wait()
}

// run is the state that the workers share.
type run[T any] struct {
	Queue[T]
	mu    sync.Mutex
	empty *clock.Time   // when nothing was due
	busy  int           // number of workers with items
	idle  chan struct{} // closed when no worker has items
}

func (r *run[T]) worker(ctx context.Context) error {
	for ctx.Err() == nil {
		items, idle, err := r.claim(ctx)
		switch {
		case err != nil:
			return err
		case len(items) > 0:
			err := Guard(func() error { return r.Work(ctx, items) })
			if r.end(); err != nil {
				return err
			}
		case idle == nil:
			return nil
		default:
			wait(ctx, idle)
		}
	}
	return nil
}

// claim claims items. If none is due, it returns a channel that closes when the busy workers are done, nil if
// there are none.
func (r *run[T]) claim(ctx context.Context) ([]T, <-chan struct{}, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.Clock.Now()
	if r.empty != nil && now.Before(r.empty.Plus(poll).Time) {
		return nil, r.idle, nil
	}
	items, err := r.Claim(ctx, now)
	if err != nil {
		return nil, nil, err
	}
	if len(items) == 0 {
		r.empty = &now
		return nil, r.idle, nil
	}
	r.empty = nil
	if r.busy == 0 {
		r.idle = make(chan struct{})
	}
	r.busy++
	return items, nil, nil
}

// end notes that a worker is done with its items. Once no worker is busy, more items may be due.
func (r *run[T]) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.busy--; r.busy == 0 {
		close(r.idle)
		r.idle, r.empty = nil, nil
	}
}

// wait returns when it is time to check for more.
func wait(ctx context.Context, idle <-chan struct{}) {
	again := time.NewTimer(poll)
	defer again.Stop()
	select {
	case <-ctx.Done():
	case <-idle:
	case <-again.C:
	}
}

// Guard turns a panic into an error: one item must not crash the server.
func Guard(do func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic of type %T\n%s", v, debug.Stack())
		}
	}()
	return do()
}

// Backoff holds the times between the attempts for an item.
type Backoff []time.Duration

// After returns the wait after so many failed attempts, at least one. It reports false when the item is given up.
func (b Backoff) After(attempts int) (time.Duration, bool) {
	if attempts > len(b) {
		return 0, false
	}
	return b[attempts-1], true
}
