package share

import (
	"context"
	"errors"
	"slices"
	"time"

	"rail/server/postgres/pgtx"
)

// group is a running shared transaction with its members.
type group struct {
	commits   *GroupCommit
	tx        *pgtx.Tx
	slots     []*slot
	penalized []*slot // members that delayed or undid the others' work
	ended     bool
	requests  chan *slot // members that have a request
}

// process runs one transaction for slots. In each round trip it sends the reads of all
// members that ask for some; when none does, it sends all writes with the commit.
func (g *GroupCommit) process(ctx context.Context, slots []*slot) {
	run := &group{commits: g, tx: g.begin(), slots: slots, requests: make(chan *slot, len(slots))}
	defer run.recovered()
	exec(ctx, run.tx, g.first)
	for _, s := range slots {
		s.requests = run.requests
	}
	for reading := run.reading(); len(reading) > 0; reading = run.reading() {
		if !run.read(ctx, reading) {
			run.tx.Rollback()
			run.end(pgtx.ErrRetryAlone)
			return
		}
		if !g.sequential {
			run.resume(reading...)
			continue
		}
		for _, s := range reading {
			run.resume(s)
		}
	}
	run.end(run.commit(ctx))
}

// reading returns the members that ask for reads.
func (g *group) reading() []*slot {
	var out []*slot
	for _, s := range g.slots {
		if !s.dropped && s.request.reads != nil {
			out = append(out, s)
		}
	}
	return out
}

// recovered ends the group after a panic. Only the encoding of a statement panics here,
// before it is sent; it panics again when its member works alone.
func (g *group) recovered() {
	if v := recover(); v != nil && !g.ended {
		g.tx.Rollback()
		g.end(pgtx.ErrRetryAlone)
	}
}

// read sends the reads of several members in one round trip, and reports whether the
// transaction is still usable.
func (g *group) read(ctx context.Context, members []*slot) bool {
	var all []pgtx.Read
	for _, s := range members {
		all = append(all, s.request.reads...)
	}
	errs := g.tx.Together(ctx, all...)
	usable := g.tx.Usable()
	for _, s := range members {
		n := len(s.request.reads)
		s.request.errs, errs = errs[:n:n], errs[n:]
		if !usable && undone(pgtx.First(s.request.errs)) {
			g.penalized = append(g.penalized, s)
			return false // the reads behind it fail with its error
		}
	}
	return usable
}

// mixed reports whether the group has members of other tenants than that of s.
func (g *group) mixed(s *slot) bool {
	return slices.ContainsFunc(g.slots, func(o *slot) bool { return o.Tenant != s.Tenant })
}

// resume lets members continue with the rows they have read, until each has its next
// request. After memberTimeout the group continues without the slow ones.
func (g *group) resume(members ...*slot) {
	busy := map[*slot]bool{}
	for _, s := range members {
		busy[s] = true
		done := s.request.done
		s.request.reads = nil
		close(done)
	}
	timeout := time.NewTimer(memberTimeout)
	defer timeout.Stop()
	for len(busy) > 0 {
		select {
		case s := <-g.requests:
			delete(busy, s)
		case <-timeout.C:
			for s := range busy {
				if s.dropped = true; g.mixed(s) {
					g.penalized = append(g.penalized, s)
				}
			}
			return
		}
	}
}

// commit sends all writes with the commit. After an error of the database, each writer
// repeats its work alone, even if it was the only one: a shared transaction gives its
// statements less time for locks.
func (g *group) commit(ctx context.Context) error {
	var writers []*slot
	var parts []*pgtx.Tx
	for _, s := range g.slots {
		if !s.dropped && s.request.commit && s.tx.HasWrites() {
			writers, parts = append(writers, s), append(parts, s.tx)
			g.tx.CopyTrace(s.tx)
		}
	}
	if len(writers) == 0 {
		g.tx.Rollback()
		return nil
	}
	exec(ctx, g.tx, g.commits.last)
	g.tx.Join(parts...)
	err := g.tx.Commit(ctx)
	if undone(err) && len(g.slots) > 1 {
		g.penalized = writers // the error does not name its writer
	}
	return RetryAlone(err)
}

// end answers every member that was not dropped.
func (g *group) end(err error) {
	g.ended = true
	g.commits.batcher.Done(g.slots, err == nil, g.penalized...)
	if errors.Is(err, pgtx.ErrRetryAlone) {
		g.commits.batcher.Retried(len(g.slots))
	}
	for _, s := range g.slots {
		if !s.dropped { // a dropped member may have no request
			s.tx.CopyPosition(g.tx)
			if s.request.err = err; s.request.reads != nil {
				s.request.errs = slices.Repeat([]error{err}, len(s.request.reads))
			}
			close(s.request.done)
		}
		close(s.ended)
	}
}
