package share

import (
	"context"
	"slices"

	"rail/server/postgres/pgtx"
)

// slot is a member's place in a shared transaction. The member's goroutine and the
// group's goroutine take turns: each waits while the other uses the slot.
type slot struct {
	Entry

	commits   *GroupCommit
	tx        *pgtx.Tx
	order     int          // the member's index in Nested
	onJoin    func()       // set by Nested; may be nil
	prechecks []pgtx.Read  // sent before its first reads
	denied    error        // the first error of the prechecks
	joined    bool         // waits or is in a batch
	dropped   bool         // the group continues without it
	requests  chan<- *slot // of its group
	request   request
	ended     chan struct{} // closed when the shared transaction has ended
}

// request is a member's request to its group: reads, the commit, or the end.
type request struct {
	reads  []pgtx.Read
	errs   []error // of the reads
	commit bool
	err    error // of the commit
	done   chan struct{}
}

// Begun reports whether reads have been sent or wait.
func (s *slot) Begun() bool { return s.joined || s.prechecks != nil }

// Claim reports whether the member has the names.
func (s *slot) Claim(names []string) bool { return s.commits.batcher.claim(s, names) }

// Precheck queues reads before the first ones of the member, or runs them now if those
// have been sent.
func (s *slot) Precheck(ctx context.Context, reads []pgtx.Read) error {
	if s.joined {
		return pgtx.First(s.Together(ctx, reads))
	}
	s.prechecks = append(s.prechecks, reads...)
	return nil
}

// Settle sends prechecks that wait, and returns the error of all prechecks.
func (s *slot) Settle(ctx context.Context) error {
	if s.prechecks != nil {
		s.read(ctx, nil)
	}
	return s.denied
}

// Together runs reads in the group's next round trip.
func (s *slot) Together(ctx context.Context, reads []pgtx.Read) []error {
	if s.tx.HasWrites() { // the reads would have to see them
		return slices.Repeat([]error{pgtx.ErrRetryAlone}, len(reads))
	}
	return s.read(ctx, reads)
}

// read asks for the prechecks and for reads.
func (s *slot) read(ctx context.Context, reads []pgtx.Read) []error {
	prechecks := s.prechecks
	s.prechecks = nil
	all := slices.Concat(prechecks, reads)
	if s.denied != nil || len(all) == 0 {
		return slices.Repeat([]error{s.denied}, len(reads))
	}
	err := s.ask(ctx, request{reads: all})
	if prechecks != nil {
		if err == nil {
			err = pgtx.First(s.request.errs[:len(prechecks)])
		}
		s.denied = err
	}
	if err != nil {
		return slices.Repeat([]error{err}, len(reads))
	}
	return s.request.errs[len(prechecks):]
}

// Commit waits for the commit of the shared transaction.
func (s *slot) Commit(ctx context.Context) error {
	if err := s.Settle(ctx); err != nil {
		s.Rollback()
		return err
	}
	if !s.joined && !s.tx.HasWrites() {
		return nil
	}
	if err := s.ask(ctx, request{commit: true}); err != nil {
		return err
	}
	return s.request.err
}

// Rollback ends the member's part without its writes. It returns when the shared
// transaction has ended and released the locks that the member asked for.
func (s *slot) Rollback() {
	s.prechecks = nil
	if s.joined {
		_ = s.ask(context.Background(), request{}) // the member has nothing to lose
	}
}

// ask hands a request over and waits for its answer. A member that waits for its batch
// may give up; one in a batch is bound to the others for up to batchTimeout and a
// rollback.
func (s *slot) ask(ctx context.Context, r request) error {
	select {
	case <-s.ended: // as its last answer reported
		return pgtx.ErrRetryAlone
	default:
	}
	r.done = make(chan struct{})
	if s.request = r; s.joined {
		s.requests <- s // never blocks: the channel has room for every member
	} else {
		s.join()
	}
	select {
	case <-r.done:
	case <-s.ended:
	case <-ctx.Done():
		if s.commits.batcher.Remove(s) {
			s.joined = false
			return ctx.Err()
		}
	}
	select {
	case <-r.done:
		return nil
	case <-s.ended:
	}
	select { // both may be closed
	case <-r.done:
		return nil
	default:
		return pgtx.ErrRetryAlone
	}
}

// join adds the member with its first request to the batcher.
func (s *slot) join() {
	s.joined = true
	s.commits.batcher.Add(s)
	if s.onJoin != nil {
		s.onJoin()
	}
}
