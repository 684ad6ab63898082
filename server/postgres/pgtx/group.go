package pgtx

import (
	"context"
	"errors"
	"slices"
	"time"

	"rail/server/clock"
)

// group is a shared transaction and its riders.
type group struct {
	bus    *Bus
	tx     *Tx
	seats  []*seat
	blamed []*seat // for what it cost the others
	ended  bool
	wishes chan *seat
}

// carry brings riders through one transaction: in each trip the reads of all who
// want some, and, when nobody does, the writes of all with the commit.
func (b *Bus) carry(ctx context.Context, seats []*seat) {
	g := &group{bus: b, tx: b.begin(), seats: seats, wishes: make(chan *seat, len(seats))}
	defer g.recovered()
	g.tx.later = slices.Clone(b.first)
	for _, s := range seats {
		s.wishes = g.wishes
	}
	for reading := g.reading(); len(reading) > 0; reading = g.reading() {
		if !g.read(ctx, reading) {
			g.tx.Rollback()
			g.end(ErrAlone)
			return
		}
		if !b.turns {
			g.gather(reading...)
			continue
		}
		for _, s := range reading {
			g.gather(s)
		}
	}
	g.end(g.commit(ctx))
}

// reading returns the riders that want to read.
func (g *group) reading() []*seat {
	var out []*seat
	for _, s := range g.seats {
		if !s.gone && s.wish.reads != nil {
			out = append(out, s)
		}
	}
	return out
}

// recovered ends what panicked, of which nothing was sent: that was the encoding of a
// rider's statement. Alone it panics in its own request.
func (g *group) recovered() {
	if v := recover(); v != nil && !g.ended {
		g.tx.Rollback()
		g.end(ErrAlone)
	}
}

// read sends the reads of several riders in one trip, and reports whether the
// transaction can go on. A rider may have kept the others waiting for its reads.
func (g *group) read(ctx context.Context, riders []*seat) bool {
	var all []Read
	came := make([]time.Time, len(riders)) // when each had what it asked for
	for i, s := range riders {
		last := len(s.wish.reads) - 1
		all = append(all, s.wish.reads[:last]...)
		all = append(all, noted(s.wish.reads[last], &came[i]))
	}
	since := clock.Real()
	errs := g.tx.Together(ctx, all...)
	whole := g.tx.conn != nil && g.tx.conn.Conn().PgConn().TxStatus() == 'T'
	for i, s := range riders {
		n := len(s.wish.reads)
		s.wish.errs, errs = errs[:n:n], errs[n:]
		if !whole && undone(First(s.wish.errs)) {
			g.blamed = append(g.blamed, s)
			return false // those behind it have its error
		}
		if came[i].Sub(since) > patience && g.mixed(s) {
			g.blamed = append(g.blamed, s)
		}
		if came[i].After(since) {
			since = came[i]
		}
	}
	return whole
}

// noted returns the read, which notes when it has ended.
func noted(read Read, at *time.Time) Read {
	return func(db DBTX) error {
		err := read(db)
		*at = clock.Real()
		return err
	}
}

// mixed reports whether there are riders of others than the tenant of s.
func (g *group) mixed(s *seat) bool {
	return slices.ContainsFunc(g.seats, func(o *seat) bool { return o.Tenant != s.Tenant })
}

// gather lets riders work on with what they have read, until each of them wants
// something again. After a while the others go on without those that do not.
func (g *group) gather(riders ...*seat) {
	busy := map[*seat]bool{}
	for _, s := range riders {
		busy[s] = true
		done := s.wish.done
		s.wish.reads = nil
		close(done)
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	for len(busy) > 0 {
		select {
		case s := <-g.wishes:
			delete(busy, s)
		case <-late.C:
			for s := range busy {
				s.gone = true
				g.blamed = append(g.blamed, s)
			}
			return
		}
	}
}

// commit sends all writes with the commit. What the database refuses goes alone, also
// where only one rider wrote: its statements had less time for locks than they may have.
func (g *group) commit(ctx context.Context) error {
	var queues [][]statement
	for _, s := range g.seats {
		if !s.gone && s.wish.commit && len(s.tx.later) > 0 {
			queues = append(queues, s.tx.later)
			g.tx.traced = g.tx.traced || s.tx.traced
		}
	}
	if len(queues) == 0 {
		g.tx.Rollback()
		return nil
	}
	g.tx.later = append(g.tx.later, merge(queues)...)
	err := g.tx.Commit(ctx)
	if len(queues) > 1 && undone(err) {
		g.blamed = g.seats // it cannot be seen whose statement it was
	}
	return Alone(err)
}

// end answers every rider that is still there.
func (g *group) end(err error) {
	g.ended = true
	g.bus.queue.Arrived(g.seats, g.blamed...)
	if errors.Is(err, ErrAlone) {
		g.bus.queue.SentAway(len(g.seats))
	}
	for _, s := range g.seats {
		if !s.gone { // who is gone may have no wish
			s.tx.at = g.tx.at
			if s.wish.err = err; s.wish.reads != nil {
				s.wish.errs = repeat(err, len(s.wish.reads))
			}
			close(s.wish.done)
		}
		close(s.off)
	}
}
