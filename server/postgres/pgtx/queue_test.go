package pgtx_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rail/server/postgres/pgtx"
)

// rider is the smallest of a Queue.
type rider struct {
	pgtx.Ticket

	n    int
	done chan struct{}
}

// line is a queue whose trips are in the hands of a test.
type line struct {
	*pgtx.Queue[*rider]

	trips chan []*rider // that have begun
}

func newLine(l pgtx.Limits) line {
	trips := make(chan []*rider)
	return line{pgtx.NewQueue(l, func(_ context.Context, riders []*rider) {
		end := riders[0].done
		trips <- riders
		<-end
	}), trips}
}

// join puts riders with names into the queue.
func (l line) join(names ...string) {
	for i, name := range names {
		l.Join(&rider{Ticket: pgtx.Ticket{Tenant: "t", Names: []string{name}}, n: i, done: make(chan struct{})})
	}
}

// begun returns the next trip, and the names of its riders.
func (l line) begun(t *testing.T) (trip []*rider, names []string) {
	t.Helper()
	select {
	case trip = <-l.trips:
	case <-time.After(30 * time.Second):
		t.Fatal("no trip begins")
	}
	for _, r := range trip {
		names = append(names, r.Names...)
	}
	return trip, names
}

// end ends a trip.
func (l line) end(trip []*rider) {
	l.Arrived(trip, true)
	close(trip[0].done)
}

// follow ends a trip, and those that it expects to begin one after the other, by the names
// of their riders; then nothing is left.
func (l line) follow(t *testing.T, trip []*rider, wants ...[]string) {
	t.Helper()
	for _, want := range wants {
		l.end(trip)
		var got []string
		trip, got = l.begun(t)
		require.Equal(t, want, got)
	}
	l.end(trip)
	require.Eventually(t, l.Idle, 30*time.Second, time.Millisecond)
}

// TestQueueGathers has those who come while a trip is under way go together, as many as
// one may have.
func TestQueueGathers(t *testing.T) {
	t.Parallel()
	l := newLine(pgtx.Limits{Riders: 3, Trips: 1})
	l.join("a")
	trip, _ := l.begun(t)
	l.join("b", "c", "d", "e")
	l.follow(t, trip, []string{"b", "c", "d"}, []string{"e"})
	require.Equal(t, pgtx.Shared{Trips: 3, Riders: 5}, l.Shared())
}

// TestQueueNames has riders of one name go one after the other, and nobody overtake one
// who waits for a name of both.
func TestQueueNames(t *testing.T) {
	t.Parallel()
	l := newLine(pgtx.Limits{Riders: 9, Trips: 1})
	l.join("x")
	trip, _ := l.begun(t)
	l.join("a", "a", "b")
	l.Join(&rider{Ticket: pgtx.Ticket{Names: []string{"a", "c"}}, done: make(chan struct{})})
	l.join("c", "d")
	l.follow(t, trip, []string{"a", "b", "d"}, []string{"a"}, []string{"a", "c"}, []string{"c"})
}

// TestQueueLate lets those who are too few for a trip beside another go all the same when
// that one takes long.
func TestQueueLate(t *testing.T) {
	t.Parallel()
	l := newLine(pgtx.Limits{Riders: 64, Trips: 2, Beside: 64})
	l.join("x")
	stuck, _ := l.begun(t)
	l.join("a")
	second, got := l.begun(t)
	require.Equal(t, []string{"a"}, got)
	l.join("b")
	l.end(second)
	third, got := l.begun(t)
	require.Equal(t, []string{"b"}, got, "the other one does not count any more")
	l.end(third)
	l.end(stuck)
	require.Eventually(t, l.Idle, 30*time.Second, time.Millisecond)
}

// TestQueueQuit takes riders out who wait, and none that is under way.
func TestQueueQuit(t *testing.T) {
	t.Parallel()
	l := newLine(pgtx.Limits{Riders: 64, Trips: 1})
	l.join("x")
	trip, _ := l.begun(t)
	r := &rider{done: make(chan struct{})}
	require.False(t, l.Quit(r))
	l.Join(r)
	require.True(t, l.Quit(r))
	require.False(t, l.Quit(trip[0]))
	l.end(trip)
	require.Eventually(t, l.Idle, 30*time.Second, time.Millisecond)
}

// TestQueueConduct has a tenant go alone once it has cost the others two trips in a row.
func TestQueueConduct(t *testing.T) {
	t.Parallel()
	l := newLine(pgtx.Limits{Riders: 64, Trips: 1})
	for _, end := range []string{"bad", "well", "bad", "not well", "bad"} {
		require.False(t, l.Apart("t"))
		l.join("x")
		trip, _ := l.begun(t)
		if end == "bad" {
			l.Arrived(trip, false, trip[0], trip[0]) // is blamed once
		} else {
			l.Arrived(trip, end == "well") // of others, say, is not its fault
		}
		close(trip[0].done)
		require.Eventually(t, l.Idle, 30*time.Second, time.Millisecond)
	}
	for range 100 {
		require.True(t, l.Apart("t"))
	}
	require.False(t, l.Apart("t"))
}

// TestQueueModel has riders with random names come and go: each travels once or has quit,
// in the order in which those of its name came, and no two of a name are under way.
func TestQueueModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var mu sync.Mutex
		var all sync.WaitGroup
		under, last := map[string]bool{}, map[string]int{}
		limits := pgtx.Limits{
			Riders: rapid.IntRange(1, 5).Draw(rt, "riders"), Trips: rapid.IntRange(1, 3).Draw(rt, "trips"),
			Beside: rapid.IntRange(0, 3).Draw(rt, "beside"),
		}
		var q *pgtx.Queue[*rider]
		var faults []string
		q = pgtx.NewQueue(limits, func(_ context.Context, riders []*rider) {
			mu.Lock()
			for _, r := range riders {
				for _, name := range r.Names {
					if under[name] || r.n < last[name] {
						faults = append(faults, fmt.Sprintf("%d of %s", r.n, name))
					}
					under[name], last[name] = true, r.n
				}
			}
			mu.Unlock()
			runtime.Gosched() // others come meanwhile
			mu.Lock()
			for _, r := range riders {
				for _, name := range r.Names {
					under[name] = false
				}
			}
			mu.Unlock()
			q.Arrived(riders, true)
			for range riders {
				all.Done()
			}
		})
		wants := rapid.SliceOfN(rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 2, rapid.ID[string]), 1, 50).
			Draw(rt, "names")
		for n, names := range wants {
			r := &rider{Ticket: pgtx.Ticket{Tenant: "t", Names: names}, n: n + 1}
			all.Add(1)
			q.Join(r)
			if n%5 == 4 && q.Quit(r) {
				all.Done()
			}
		}
		all.Wait()
		require.Empty(rt, faults)
		require.Eventually(rt, q.Idle, 30*time.Second, 100*time.Microsecond)
	})
}
