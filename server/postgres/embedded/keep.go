package embedded

import (
	"context"
	"time"
)

// watchEvery is how often a joined cluster, whose end nobody tells, is asked.
const watchEvery = time.Second

// Keep starts the cluster again whenever it has died, until ctx ends or Stop is
// called. A joined cluster that its owner took down becomes this process's own.
// The address stays the same, so that pools find it by themselves.
func (s *Server) Keep(ctx context.Context) {
	for s.waitForEnd(ctx) {
		s.options.Logf("PostgreSQL has ended; starting it again")
		next, err := Start(ctx, s.options)
		if err != nil {
			s.options.Logf("PostgreSQL does not start: %v", err)
			if !sleep(ctx, watchEvery) {
				return
			}
			continue
		}
		if !s.adopt(next) {
			return
		}
	}
}

// waitForEnd returns true when the cluster has died, and false when it is no
// longer to be kept.
func (s *Server) waitForEnd(ctx context.Context) bool {
	if p := s.process(); p != nil {
		select {
		case <-ctx.Done():
			return false
		case <-p.done:
		}
	} else if !s.watch(ctx) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.stopped && ctx.Err() == nil
}

// watch asks a joined cluster until it does not answer.
func (s *Server) watch(ctx context.Context) bool {
	for sleep(ctx, watchEvery) {
		if err := s.ping(ctx); err != nil {
			return ctx.Err() == nil
		}
	}
	return false
}

// adopt makes the new child the one that Stop ends; a Stop that came first ends
// it at once.
func (s *Server) adopt(next *Server) bool {
	s.mu.Lock()
	stopped := s.stopped
	if !stopped {
		s.proc = next.proc
	}
	s.mu.Unlock()
	if stopped {
		_ = next.Stop() // the log holds what went wrong
	}
	return !stopped
}

// sleep returns false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
