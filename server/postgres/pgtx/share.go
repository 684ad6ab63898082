package pgtx

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
)

// maxTries bounds how often Share does one piece of work.
const maxTries = 4

// Share does n pieces of work inside t as riders of it, so that all their reads
// travel together, and then all their writes. It returns the error of each; of
// those with one nothing is kept, and the others stand. Equal claims are given in
// order, and work that cannot go with the rest is done alone, before what waits
// for its claims; what shows that before it reads anything is done last. t goes on
// when all have ended.
func (t *Tx) Share(ctx context.Context, n int, do func(i int, rider *Tx) error) []error {
	b := newBus(t.nested, Limits{Riders: n}) // and no trip before all are there
	b.turns = true
	errs, ended := make([]error, n), make([]chan struct{}, n)
	var ready sync.WaitGroup
	ready.Add(n)
	for i := range n {
		rider, here := b.rider(""), sync.OnceFunc(ready.Done)
		rider.outer, rider.seat.order, rider.seat.onJoin = t, i, here
		ended[i] = make(chan struct{})
		go func() {
			defer close(ended[i])
			defer here() // work that asks for nothing
			errs[i] = end(ctx, rider, func() error { return do(i, rider) })
		}()
	}
	ready.Wait()
	b.sort()
	alone := func(i int) {
		<-ended[i]
		for try := 2; Again(errs[i]) && !deadlocked(errs[i]) && try <= maxTries; try++ {
			tx := t.nested()
			errs[i] = end(ctx, tx, func() error { return do(i, tx) })
		}
	}
	for seats := b.queue.board(); len(seats) > 0; seats = b.queue.board() {
		b.carry(ctx, seats)
		for _, s := range seats {
			alone(s.order)
		}
	}
	for i := range n { // who never asked for anything
		alone(i)
	}
	return errs
}

// deadlocked reports whether work lost against others that wait for what t has
// locked before. To do it again would not help: t must end.
func deadlocked(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "40P01"
}

// end commits tx after work, or undoes it. A panic is an error here: others must
// be told how they ended.
func end(ctx context.Context, tx *Tx, work func() error) (err error) {
	defer tx.Rollback()
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("pgtx: shared work panicked: %v\n%s", v, debug.Stack())
		}
	}()
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
