package embedded

import (
	"context"
	"time"

	"rail/server/clock"
)

const (
	// watchEvery is how often a joined cluster, which is no child whose end could be
	// waited for, is pinged.
	watchEvery = time.Second
	// logEvery is how often the log is looked at: few errors fill so much of it in that time.
	logEvery = time.Hour
)

// Keep bounds the log of the cluster, and starts the cluster again whenever it has died, until ctx ends or Stop is
// called. A joined cluster that its owner took down becomes this process's own.
// The address stays the same, so that pools find it by themselves.
func (s *Server) Keep(ctx context.Context) {
	go s.keepLogShort(ctx)
	for s.waitForEnd(ctx) {
		s.options.Logf("%s; starting it again", ended(lastWordsOf(layout{dir: s.options.Dir}.log())))
		next, err := Start(ctx, s.options)
		if err != nil {
			s.options.Logf("PostgreSQL does not start: %v", err)
			if clock.Wait(ctx, watchEvery) != nil {
				return
			}
			continue
		}
		if !s.adopt(next) {
			return
		}
	}
}

// ended says that the cluster has ended, and why if it has said so.
func ended(why string) string {
	if why == "" {
		return "PostgreSQL has ended"
	}
	return "PostgreSQL has ended: " + why
}

// waitForEnd returns true once the cluster has died, and false if it is not to be
// started again.
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

// watch pings a joined cluster and returns true once it does not answer, false
// when ctx ends.
func (s *Server) watch(ctx context.Context) bool {
	for clock.Wait(ctx, watchEvery) == nil {
		if err := s.ping(ctx); err != nil {
			return ctx.Err() == nil
		}
	}
	return false
}

// adopt makes the new child the one that Stop ends. If Stop was called first, it
// ends the child at once and returns false.
func (s *Server) adopt(next *Server) bool {
	s.mu.Lock()
	stopped := s.stopped
	if !stopped {
		s.proc = next.proc
	}
	s.mu.Unlock()
	if stopped {
		_ = next.Stop() // the log says what went wrong
	}
	return !stopped
}

// keepLogShort bounds the log until ctx ends.
func (s *Server) keepLogShort(ctx context.Context) {
	for clock.Wait(ctx, logEvery) == nil {
		if err := boundLog(layout{dir: s.options.Dir}.log()); err != nil {
			s.options.Logf("the log of PostgreSQL stays long: %v", err)
		}
	}
}
