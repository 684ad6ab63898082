package app

import (
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"rail/server/clock"
)

const (
	// maxConnections bounds the memory of connections: some 25 KiB each, about 100 MiB in all. Bodies come in
	// addition, from callers with a key only.
	maxConnections = 4096
	// maxOfAddress bounds the connections of one address, except a trusted proxy's, so that no client can exclude all
	// others.
	maxOfAddress = 1024
	// noteEvery is the minimum interval between log lines about refused connections.
	noteEvery = time.Minute
)

// connections counts the open connections of a server, and closes one beyond the limit before reading from it.
type connections struct {
	most, ofAddress int
	proxies         []netip.Prefix // many callers share each of their addresses
	log             *slog.Logger

	mu    sync.Mutex
	open  map[net.Conn]netip.Addr
	of    map[netip.Addr]int
	noted time.Time
}

// newConnections returns the counter of a server with these limits.
func newConnections(most, ofAddress int, proxies []netip.Prefix, log *slog.Logger) *connections {
	return &connections{
		most: most, ofAddress: ofAddress, proxies: proxies, log: log, open: map[net.Conn]netip.Addr{},
		of: map[netip.Addr]int{},
	}
}

// follow is the server's ConnState hook, called when a connection begins and ends.
func (s *connections) follow(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		if !s.enter(c) {
			_ = c.Close() // the server notices the end and calls this hook again
		}
	case http.StateClosed, http.StateHijacked:
		s.leave(c)
	}
}

// enter counts a connection and reports whether it may stay.
func (s *connections) enter(c net.Conn) bool {
	from, _ := netip.ParseAddrPort(c.RemoteAddr().String())
	a := from.Addr().Unmap()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) < s.most && (s.of[a] < s.ofAddress || s.proxy(a)) {
		s.open[c] = a
		s.of[a]++
		return true
	}
	if now := clock.Real(); now.Sub(s.noted) >= noteEvery {
		s.noted = now
		s.log.Warn("connections refused", "open", len(s.open), "of this address", s.of[a])
	}
	return false
}

// proxy reports whether an address is a trusted proxy.
func (s *connections) proxy(a netip.Addr) bool {
	return slices.ContainsFunc(s.proxies, func(p netip.Prefix) bool { return p.Contains(a) })
}

// leave stops counting a connection; refused ones were never counted.
func (s *connections) leave(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.open[c]
	if !ok {
		return
	}
	delete(s.open, c)
	if s.of[a]--; s.of[a] == 0 {
		delete(s.of, a)
	}
}
