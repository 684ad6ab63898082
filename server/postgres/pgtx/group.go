package pgtx

import (
	"context"
	"errors"
	"slices"
	"time"
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

// recovered ends what panicked: the encoding of a rider's statement, before it was
// sent, which the rider will see again when it goes alone.
func (g *group) recovered() {
	if v := recover(); v != nil && !g.ended {
		g.tx.Rollback()
		g.end(ErrAlone)
	}
}

// read sends the reads of several riders in one trip, and reports whether the
// transaction can go on.
func (g *group) read(ctx context.Context, riders []*seat) bool {
	var all []Read
	for _, s := range riders {
		all = append(all, s.wish.reads...)
	}
	errs := g.tx.Together(ctx, all...)
	whole := g.tx.conn != nil && g.tx.conn.Conn().PgConn().TxStatus() == 'T'
	for _, s := range riders {
		n := len(s.wish.reads)
		s.wish.errs, errs = errs[:n:n], errs[n:]
		if !whole && undone(First(s.wish.errs)) {
			g.blamed = append(g.blamed, s)
			return false // those behind it have its error
		}
	}
	return whole
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
				if s.gone = true; g.mixed(s) {
					g.blamed = append(g.blamed, s)
				}
			}
			return
		}
	}
}

// commit sends all writes with the commit. What the database refuses goes alone, also
// where only one rider wrote: its statements had less time for locks than they may have.
func (g *group) commit(ctx context.Context) error {
	var queues [][]statement
	var writers []*seat
	for _, s := range g.seats {
		if !s.gone && s.wish.commit && len(s.tx.later) > 0 {
			queues, writers = append(queues, s.tx.later), append(writers, s)
			g.tx.traced = g.tx.traced || s.tx.traced
		}
	}
	if len(queues) == 0 {
		g.tx.Rollback()
		return nil
	}
	g.tx.later = slices.Concat(g.tx.later, g.bus.last, merge(queues))
	err := g.tx.Commit(ctx)
	if undone(err) && len(g.seats) > 1 {
		g.blamed = writers // it cannot be seen whose statement it was
	}
	return Alone(err)
}

// end answers every rider that is still there.
func (g *group) end(err error) {
	g.ended = true
	g.bus.queue.Arrived(g.seats, err == nil, g.blamed...)
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
