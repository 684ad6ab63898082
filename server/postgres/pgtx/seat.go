package pgtx

import (
	"context"
	"slices"
)

// seat is a rider's place on a Bus. The rider and the goroutine that carries it
// take turns: whoever does not have the wish waits.
type seat struct {
	Ticket

	bus    *Bus
	tx     *Tx
	order  int          // of riders that Share begins
	onJoin func()       // likewise; else nil
	ahead  []Read       // to go with its first reads
	barred error        // of those
	joined bool         // in the queue or under way
	gone   bool         // the others have gone on without it
	wishes chan<- *seat // of the group that it has boarded
	wish   wish
	off    chan struct{} // closed when what it shared has ended
}

// wish is what a rider waits for: reads, else its end.
type wish struct {
	reads  []Read
	errs   []error // of the reads
	commit bool
	err    error // of the commit
	done   chan struct{}
}

// Claim names what only one rider at a time may decide about: what the work
// locks, or would lock if it did not trust a constraint. Where another rider has
// the name, it returns an error of which Again is true; before the first
// statement, the rider waits for its turn instead. In a transaction that is not
// shared, locks do all this, and Claim does nothing.
func (t *Tx) Claim(names ...string) error {
	if t.seat == nil || t.seat.bus.queue.claim(t.seat, names) {
		return nil
	}
	return ErrAlone
}

// Ahead makes reads before all others of t, whose work is worth nothing if one of them
// has an error. A rider's travel with the first reads of its work, which get that error,
// too.
func (t *Tx) Ahead(ctx context.Context, reads ...Read) error {
	if t.seat == nil || t.seat.joined {
		return First(t.Together(ctx, reads...))
	}
	t.seat.ahead = append(t.seat.ahead, reads...)
	return nil
}

// Settle returns the error of what was to go ahead, and sends it if the work has asked
// for nothing.
func (t *Tx) Settle(ctx context.Context) error {
	if t.seat == nil {
		return nil
	}
	return t.seat.settle(ctx)
}

func (s *seat) settle(ctx context.Context) error {
	if s.ahead != nil && !s.tx.done {
		s.read(ctx, nil)
	}
	return s.barred
}

// together is Together of a rider.
func (s *seat) together(ctx context.Context, reads []Read) []error {
	if len(s.tx.later) > 0 { // reads that follow writes would have to see them
		return repeat(ErrAlone, len(reads))
	}
	return s.read(ctx, reads)
}

// read asks for reads, and for those that go ahead of them.
func (s *seat) read(ctx context.Context, reads []Read) []error {
	ahead := s.ahead
	s.ahead = nil
	all := slices.Concat(ahead, reads)
	if s.barred != nil || len(all) == 0 {
		return repeat(s.barred, len(reads))
	}
	err := s.ask(ctx, wish{reads: all})
	if ahead != nil {
		if err == nil {
			err = First(s.wish.errs[:len(ahead)])
		}
		s.barred = err
	}
	if err != nil {
		return repeat(err, len(reads))
	}
	return s.wish.errs[len(ahead):]
}

// commit is Commit of a rider.
func (s *seat) commit(ctx context.Context) error {
	if err := s.settle(ctx); err != nil {
		s.leave()
		return err
	}
	defer s.tx.release()
	if !s.joined && len(s.tx.later) == 0 {
		return nil
	}
	if err := s.ask(ctx, wish{commit: true}); err != nil {
		return err
	}
	return s.wish.err
}

// leave is Rollback of a rider: nothing that waits is written. It returns when
// the shared transaction has ended, and with it the locks that the rider asked
// for.
func (s *seat) leave() {
	defer s.tx.release()
	s.tx.later = nil
	if s.joined {
		_ = s.ask(context.Background(), wish{}) // there is nothing to lose
	}
}

// ask hands a wish over and waits until it has been met. A rider that still
// queues may give up; one that is under way is bound to the others, for as long
// as sharedTime and a rollback take.
func (s *seat) ask(ctx context.Context, w wish) error {
	select {
	case <-s.off: // as its last answer said
		return ErrAlone
	default:
	}
	w.done = make(chan struct{})
	if s.wish = w; s.joined {
		s.wishes <- s // has room for one of each rider
	} else {
		s.join()
	}
	select {
	case <-w.done:
	case <-s.off:
	case <-ctx.Done():
		if s.bus.queue.Quit(s) {
			s.joined = false
			return ctx.Err()
		}
	}
	select {
	case <-w.done:
		return nil
	case <-s.off:
	}
	select { // both may have been closed by now
	case <-w.done:
		return nil
	default:
		return ErrAlone
	}
}

// join puts the rider with its first wish into the queue.
func (s *seat) join() {
	s.joined = true
	s.bus.queue.Join(s)
	if s.onJoin != nil {
		s.onJoin()
	}
}
