package share_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rail/server/harness/wait"
	"rail/server/postgres/pgtx/share"
)

// member is the smallest Member.
type member struct {
	share.Entry

	n    int
	done chan struct{}
}

// stepped is a Batcher whose batches a test ends.
type stepped struct {
	*share.Batcher[*member]

	batches chan []*member // the running ones
}

func newStepped(l share.Limits) stepped {
	batches := make(chan []*member)
	return stepped{share.NewBatcher(l, func(_ context.Context, members []*member) {
		end := members[0].done
		batches <- members
		<-end
	}), batches}
}

// join adds members with names.
func (l stepped) join(names ...string) {
	for i, name := range names {
		l.Add(&member{Entry: share.Entry{Tenant: "t", Names: []string{name}}, n: i, done: make(chan struct{})})
	}
}

// begun returns the next batch that begins, and the names of its members.
func (l stepped) begun(t *testing.T) (batch []*member, names []string) {
	t.Helper()
	select {
	case batch = <-l.batches:
	case <-time.After(30 * time.Second):
		t.Fatal("no batch begins")
	}
	for _, r := range batch {
		names = append(names, r.Names...)
	}
	return batch, names
}

// end ends a batch.
func (l stepped) end(batch []*member) {
	l.Done(batch, true)
	close(batch[0].done)
}

// follow ends a batch and each of the wanted ones, given by their members' names, that begin one
// after the other. Then nothing is left.
func (l stepped) follow(t *testing.T, batch []*member, wants ...[]string) {
	t.Helper()
	for _, want := range wants {
		l.end(batch)
		var got []string
		batch, got = l.begun(t)
		require.Equal(t, want, got)
	}
	l.end(batch)
	wait.Until(t, l.Idle)
}

// TestBatcherGathers runs members that arrive during a batch together in the next, up to the limit.
func TestBatcherGathers(t *testing.T) {
	t.Parallel()
	l := newStepped(share.Limits{Members: 3, Batches: 1})
	l.join("a")
	batch, _ := l.begun(t)
	l.join("b", "c", "d", "e")
	l.follow(t, batch, []string{"b", "c", "d"}, []string{"e"})
	require.Equal(t, share.Stats{Batches: 3, Members: 5}, l.Stats())
}

// TestBatcherNames runs members with the same name one after the other. A member does not overtake
// a waiting member that shares a name with it.
func TestBatcherNames(t *testing.T) {
	t.Parallel()
	l := newStepped(share.Limits{Members: 9, Batches: 1})
	l.join("x")
	batch, _ := l.begun(t)
	l.join("a", "a", "b")
	l.Add(&member{Entry: share.Entry{Names: []string{"a", "c"}}, done: make(chan struct{})})
	l.join("c", "d")
	l.follow(t, batch, []string{"a", "b", "d"}, []string{"a"}, []string{"a", "c"}, []string{"c"})
}

// TestBatcherLate starts a parallel batch with few members when the running one is slow.
func TestBatcherLate(t *testing.T) {
	t.Parallel()
	l := newStepped(share.Limits{Members: 64, Batches: 2, MinParallel: 64})
	l.join("x")
	stuck, _ := l.begun(t)
	l.join("a")
	second, got := l.begun(t)
	require.Equal(t, []string{"a"}, got)
	l.join("b")
	l.end(second)
	third, got := l.begun(t)
	require.Equal(t, []string{"b"}, got, "the slow batch no longer counts")
	l.end(third)
	l.end(stuck)
	wait.Until(t, l.Idle)
}

// TestBatcherRemove removes waiting members, and no running one.
func TestBatcherRemove(t *testing.T) {
	t.Parallel()
	l := newStepped(share.Limits{Members: 64, Batches: 1})
	l.join("x")
	batch, _ := l.begun(t)
	r := &member{done: make(chan struct{})}
	require.False(t, l.Remove(r))
	l.Add(r)
	require.True(t, l.Remove(r))
	require.False(t, l.Remove(batch[0]))
	l.end(batch)
	wait.Until(t, l.Idle)
}

// TestBatcherPenalty isolates a tenant that made two batches in a row fail.
func TestBatcherPenalty(t *testing.T) {
	t.Parallel()
	l := newStepped(share.Limits{Members: 64, Batches: 1})
	for _, end := range []string{"bad", "well", "bad", "not well", "bad"} {
		require.False(t, l.Isolated("t"))
		l.join("x")
		batch, _ := l.begun(t)
		if end == "bad" {
			l.Done(batch, false, batch[0], batch[0]) // counts once
		} else {
			l.Done(batch, end == "well") // the failure of another tenant
		}
		close(batch[0].done)
		wait.Until(t, l.Idle)
	}
	for range 100 {
		require.True(t, l.Isolated("t"))
	}
	require.False(t, l.Isolated("t"))
}

// TestBatcherModel adds and removes members with random names: each runs once or is removed,
// members with a common name run in the order of their arrival, and no two of them at once.
func TestBatcherModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var mu sync.Mutex
		var all sync.WaitGroup
		under, last := map[string]bool{}, map[string]int{}
		limits := share.Limits{
			Members: rapid.IntRange(1, 5).Draw(rt, "members"), Batches: rapid.IntRange(1, 3).Draw(rt, "batches"),
			MinParallel: rapid.IntRange(0, 3).Draw(rt, "beside"),
		}
		var q *share.Batcher[*member]
		var faults []string
		q = share.NewBatcher(limits, func(_ context.Context, members []*member) {
			mu.Lock()
			for _, r := range members {
				for _, name := range r.Names {
					if under[name] || r.n < last[name] {
						faults = append(faults, fmt.Sprintf("%d of %s", r.n, name))
					}
					under[name], last[name] = true, r.n
				}
			}
			mu.Unlock()
			runtime.Gosched() // lets others arrive
			mu.Lock()
			for _, r := range members {
				for _, name := range r.Names {
					under[name] = false
				}
			}
			mu.Unlock()
			q.Done(members, true)
			for range members {
				all.Done()
			}
		})
		wants := rapid.SliceOfN(rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 2, rapid.ID[string]), 1, 50).
			Draw(rt, "names")
		for n, names := range wants {
			r := &member{Entry: share.Entry{Tenant: "t", Names: names}, n: n + 1}
			all.Add(1)
			q.Add(r)
			if n%5 == 4 && q.Remove(r) {
				all.Done()
			}
		}
		all.Wait()
		require.Empty(rt, faults)
		wait.Until(rt, q.Idle)
	})
}
