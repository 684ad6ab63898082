package paypaltest

import (
	"container/heap"
	"time"
)

// A change is due at a time. Changes of the same time are made in the order of their planning.
type change struct {
	at    time.Time
	order int
	do    func(at time.Time)
}

// A timeline is a heap of changes.
type timeline struct {
	changes []change
	planned int
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (t *timeline) Len() int { return len(t.changes) }

func (t *timeline) Less(i, j int) bool {
	a, b := t.changes[i], t.changes[j]
	return a.at.Before(b.at) || a.at.Equal(b.at) && a.order < b.order
}

func (t *timeline) Swap(i, j int) { t.changes[i], t.changes[j] = t.changes[j], t.changes[i] }

func (t *timeline) Push(x any) { t.changes = append(t.changes, x.(change)) }

func (t *timeline) Pop() any {
	last := len(t.changes) - 1
	c := t.changes[last]
	t.changes[last] = change{}
	t.changes = t.changes[:last]
	return c
}

// plan adds a change.
func (t *timeline) plan(at time.Time, do func(at time.Time)) {
	t.planned++
	heap.Push(t, change{at, t.planned, do})
}

// settle makes the changes that are due, each at its own time.
func (s *Server) settle() {
	for now := s.now(); len(s.due.changes) > 0 && !s.due.changes[0].at.After(now); {
		c := heap.Pop(&s.due).(change)
		c.do(c.at)
	}
}
