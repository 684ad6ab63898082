package embedded

import (
	"context"
	"time"

	"rail/server/clock"
)

const (
	// watchEvery is the time between pings of a joined cluster, which is not a child process to
	// wait for.
	watchEvery = time.Second
	// logEvery is the time between checks of the log's size.
	logEvery = time.Hour
)

// Keep bounds the log of the cluster, and restarts the cluster whenever it has died, until ctx ends
// or Stop is called. A joined cluster that its owner has stopped is restarted by this process. The
// address stays the same, so that pools reconnect.
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

// ended returns a message that the cluster has ended, with the reason from its log.
func ended(why string) string {
	if why == "" {
		return "PostgreSQL has ended"
	}
	return "PostgreSQL has ended: " + why
}

// waitForEnd returns true after the cluster has died, and false if it must not be restarted.
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

// watch pings a joined cluster. It returns true when it does not answer, and false when ctx ends.
func (s *Server) watch(ctx context.Context) bool {
	for clock.Wait(ctx, watchEvery) == nil {
		if err := s.ping(ctx); err != nil {
			return ctx.Err() == nil
		}
	}
	return false
}

// adopt registers the new child for Stop. If Stop was called before, it ends the child at once and
// returns false.
func (s *Server) adopt(next *Server) bool {
	s.mu.Lock()
	stopped := s.stopped
	if !stopped {
		s.proc = next.proc
	}
	s.mu.Unlock()
	if stopped {
		_ = next.Stop() // the reason is in the log
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
