package bar

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// behaviour is how a receiver answers, and whether the delivery then succeeds.
type behaviour struct {
	name      string
	delivered bool
	do        func(c net.Conn, b *badReceiver)
}

// badReceiver answers as receivers should not.
type badReceiver struct {
	listener net.Listener
	to       string // target of redirects
	mu       sync.Mutex
	got      map[string]int
}

// newReceiver listens on a free port of this machine.
func newReceiver(to string) (*badReceiver, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	b := &badReceiver{listener: l, to: to, got: map[string]int{}}
	if err == nil {
		go b.serve()
	}
	return b, err
}

// url returns the address of a behaviour.
func (b *badReceiver) url(name string) string {
	return "http://" + b.listener.Addr().String() + "/" + name
}

// serve answers each connection on its own: some answers take longer than the sender waits.
func (b *badReceiver) serve() {
	for {
		c, err := b.listener.Accept()
		if err != nil {
			return // closed
		}
		go b.one(c)
	}
}

// one reads a request and answers by the behaviour in its path. The listener is no
// http.Server, since that would not send most of these answers.
func (b *badReceiver) one(c net.Conn) {
	defer c.Close() //nolint:errcheck // the sender may have closed it
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, r.Body)
	name := strings.TrimPrefix(r.URL.Path, "/")
	b.mu.Lock()
	b.got[name]++
	b.mu.Unlock()
	for _, h := range behaviours() {
		if h.name == name {
			h.do(c, b)
		}
	}
}

// requests returns the number of requests for a behaviour.
func (b *badReceiver) requests(name string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.got[name]
}

// say writes to a connection, which the sender may have closed.
func say(c net.Conn, format string, args ...any) { _, _ = fmt.Fprintf(c, format, args...) }

// behaviours lists the faults of receivers: every class of status, and answers that
// are late, broken, endless or not HTTP. Faults of TLS and names need more than one
// listener: package webhook tests them.
func behaviours() []behaviour {
	var out []behaviour
	for _, status := range []int{
		200, 201, 202, 204, 299, 300, 301, 302, 303, 307, 308, 400, 401, 404, 410, 422, 429, 451, 500, 502, 503, 504,
	} {
		out = append(out, behaviour{fmt.Sprint("status-", status), status < 300, func(c net.Conn, b *badReceiver) {
			say(c,
				"HTTP/1.1 %d X\r\nLocation: %s\r\nRetry-After: 86400\r\nRefresh: 0;url=%s\r\nSet-Cookie: a=b\r\n"+
					"Content-Length: 0\r\n\r\n", status, b.to, b.to)
		}})
	}
	// A sender waits for ten seconds. Only the status counts: the rest of a response is not read, so a response that
	// drips, never ends or cannot be decoded is a success.
	const ok = "HTTP/1.1 200 OK\r\n"
	late := func(d time.Duration) func(net.Conn, *badReceiver) {
		return func(c net.Conn, _ *badReceiver) { time.Sleep(d); say(c, ok+"Content-Length: 0\r\n\r\n") }
	}
	return append(out,
		behaviour{"late", true, late(9300 * time.Millisecond)},
		behaviour{"too-late", false, late(11 * time.Second)},
		behaviour{"silent", false, func(net.Conn, *badReceiver) { time.Sleep(15 * time.Second) }},
		behaviour{"closed", false, func(net.Conn, *badReceiver) {}},
		behaviour{"reset", false, func(c net.Conn, _ *badReceiver) {
			if t, isTCP := c.(*net.TCPConn); isTCP {
				_ = t.SetLinger(0)
			}
		}},
		behaviour{"drip", true, func(c net.Conn, _ *badReceiver) {
			say(c, ok+"Content-Length: 1000000\r\n\r\n")
			for range 30 {
				time.Sleep(500 * time.Millisecond)
				say(c, "x")
			}
		}},
		behaviour{"endless", true, func(c net.Conn, _ *badReceiver) {
			say(c, ok+"Content-Length: 10737418240\r\n\r\n")
			chunk := strings.Repeat("x", 1<<20)
			for range 200 {
				if _, err := io.WriteString(c, chunk); err != nil {
					return // the sender has stopped reading
				}
			}
		}},
		behaviour{"gzip", true, func(c net.Conn, _ *badReceiver) {
			say(c, ok+"Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x08")
		}},
		behaviour{"large-header", false, func(c net.Conn, _ *badReceiver) {
			say(c, ok+"X: %s\r\n\r\n", strings.Repeat("x", 4<<20))
		}},
		behaviour{"switch", false, func(c net.Conn, _ *badReceiver) {
			say(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		}},
		behaviour{"no-http", false, func(c net.Conn, _ *badReceiver) { say(c, "220 mail.example ESMTP\r\n") }},
		behaviour{"http-0.9", false, func(c net.Conn, _ *badReceiver) { say(c, "ok\n") }},
	)
}
