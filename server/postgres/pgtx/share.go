package pgtx

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
)

// maxTries bounds how often Share does one piece of work.
const maxTries = 4

// Share does n pieces of work inside t as riders of it, so that all their reads
// travel together, and then all their writes. It returns the error of each; of
// those with one nothing is kept, and the others stand. Work that cannot go with
// the rest is done alone, after it; equal claims take turns, in order. t goes on
// when all have ended.
func (t *Tx) Share(ctx context.Context, n int, do func(i int, rider *Tx) error) []error {
	errs := make([]error, n)
	b := newBus(t.nested, n)
	b.lanes = 0 // nobody is carried before all are there
	var ready, ended sync.WaitGroup
	ready.Add(n)
	for i := range n {
		rider := b.rider("")
		rider.seat.order = i
		here := sync.OnceFunc(ready.Done)
		rider.seat.onJoin = here
		ended.Go(func() {
			defer here() // work that asks for nothing
			defer func() {
				if v := recover(); v != nil {
					errs[i] = fmt.Errorf("pgtx: shared work panicked: %v\n%s", v, debug.Stack())
				}
			}()
			errs[i] = end(ctx, rider, func() error { return do(i, rider) })
		})
	}
	ready.Wait()
	b.sort()
	b.run(ctx)
	ended.Wait()
	for i := range n {
		for try := 2; Again(errs[i]) && try <= maxTries; try++ {
			alone := t.nested()
			errs[i] = end(ctx, alone, func() error { return do(i, alone) })
		}
	}
	return errs
}

// end commits tx after work, or undoes it.
func end(ctx context.Context, tx *Tx, work func() error) error {
	defer tx.Rollback()
	if err := work(); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// Join puts off what the parts have put off, joined as the writes of riders are.
// The parts are transactions of which nothing was sent, and nothing will be.
func (t *Tx) Join(parts ...*Tx) {
	var queues [][]statement
	for _, p := range parts {
		queues = append(queues, p.later)
	}
	t.later = append(t.later, merge(queues)...)
}
