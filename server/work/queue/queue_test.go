package queue_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/work/queue"
)

// table holds the items of a queue, and which of them are done.
type table struct {
	mu        sync.Mutex
	due, done []int
}

func (t *table) claim(context.Context, clock.Time) ([]int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.due) == 0 {
		return nil, nil
	}
	items := t.due[:1]
	t.due = t.due[1:]
	return items, nil
}

// run processes the items with three workers.
func (t *table) run(ctx context.Context, work func(int) error) error {
	return queue.Queue[int]{
		Workers: 3,
		Clock:   clock.NewManual(time.Unix(0, 0)),
		Claim:   t.claim,
		Work: func(_ context.Context, items []int) error {
			err := work(items[0])
			t.mu.Lock()
			defer t.mu.Unlock()
			t.done = append(t.done, items...)
			return err
		},
	}.Run(ctx)
}

// TestRunUntilNothingIsDue: a run includes the items that the last item makes due.
func TestRunUntilNothingIsDue(t *testing.T) {
	t.Parallel()
	items := &table{due: []int{1, 2, 3, 4, 5}}
	err := items.run(t.Context(), func(item int) error {
		if item == 5 || item == 6 {
			items.mu.Lock()
			defer items.mu.Unlock()
			items.due = append(items.due, item+1)
		}
		return nil
	})
	require.NoError(t, err)
	slices.Sort(items.done)
	require.Equal(t, []int{1, 2, 3, 4, 5, 6, 7}, items.done)
}

// TestWorkersShareItems: items are processed at the same time.
func TestWorkersShareItems(t *testing.T) {
	t.Parallel()
	items := &table{due: []int{1, 2, 3}}
	var all sync.WaitGroup
	all.Add(3)
	require.NoError(t, items.run(t.Context(), func(int) error {
		all.Done()
		all.Wait()
		return nil
	}))
	require.Len(t, items.done, 3)
}

// TestFailureEndsOneWorker: an error or a panic is the run's error, and the other workers go on.
func TestFailureEndsOneWorker(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	items := &table{due: []int{1, 2, 3, 4, 5}}
	require.ErrorIs(t, items.run(t.Context(), func(item int) error {
		if item == 1 {
			return refused
		}
		return nil
	}), refused)
	require.Len(t, items.done, 5)
	items = &table{due: []int{1, 2, 3}}
	require.ErrorContains(t, items.run(t.Context(), func(item int) error {
		if item == 1 {
			panic("lost")
		}
		return nil
	}), "panic of type string")
	require.Len(t, items.done, 2)
}

// TestStop checks that a run claims nothing after its context ends.
func TestStop(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	items := &table{due: slices.Repeat([]int{1}, 100)}
	require.NoError(t, items.run(ctx, func(int) error { stop(); return nil }))
	require.NotEmpty(t, items.due)
}

// TestBackoff: the waits follow one another, and then an item is given up.
func TestBackoff(t *testing.T) {
	t.Parallel()
	waits := queue.Backoff{time.Second, time.Minute}
	for n, want := range waits {
		wait, again := waits.After(n + 1)
		require.Equal(t, want, wait)
		require.True(t, again)
	}
	_, again := waits.After(3)
	require.False(t, again)
}
