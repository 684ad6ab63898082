package apitest

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/outbound/webhook"
	"rail/server/secret"
)

// Loopback allows webhooks to loopback addresses, where the tests' sinks are.
func Loopback(c *config.Config) {
	c.WebhookAllowCIDRs = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
}

// Received is one request to a sink. Event is the body as JSON.
type Received struct {
	Header  http.Header
	Body    string
	Event   Answer
	Path    string
	Arrived time.Time
}

// Sink is a receiver of webhooks. It answers with Answer, if that is set, else 200. It may be changed while
// nothing is in flight.
type Sink struct {
	URL    string
	Answer func(w http.ResponseWriter, r Received)
	mu     sync.Mutex
	got    []Received
	now    map[string]int // in flight, by path
	most   map[string]int
	more   chan struct{} // wakes Wait; one entry is enough for any number of requests
}

// NewSink starts a sink that stops with the test.
func NewSink(t testing.TB) *Sink {
	t.Helper()
	s := &Sink{now: map[string]int{}, most: map[string]int{}, more: make(chan struct{}, 1)}
	web := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(web.Close)
	s.URL = web.URL
	return s
}

// serve records a request before answering it, so that Wait sees requests that Answer delays.
func (s *Sink) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // a request that is cut off is kept in part
	got := Received{
		Header: r.Header, Body: string(body), Event: decoded(string(body)), Path: r.URL.Path, Arrived: time.Now(),
	}
	s.mu.Lock()
	s.now[r.URL.Path]++
	s.most[r.URL.Path] = max(s.most[r.URL.Path], s.now[r.URL.Path])
	s.got = append(s.got, got)
	// Called without the lock: an answer may take long.
	answer := s.Answer
	s.mu.Unlock()
	select {
	// A full channel already signals a new request.
	case s.more <- struct{}{}:
	default:
	}
	if answer != nil {
		answer(w, got)
	}
	s.mu.Lock()
	s.now[r.URL.Path]--
	s.mu.Unlock()
}

// Got returns the requests to a path, in order of arrival; "" is every path.
func (s *Sink) Got(path string) []Received {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Received
	for _, r := range s.got {
		if path == "" || r.Path == path {
			out = append(out, r)
		}
	}
	return out
}

// MostAtOnce returns the highest number of requests in flight on a path.
func (s *Sink) MostAtOnce(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most[path]
}

// Wait waits for n requests to a path and returns them, with any that came in the meantime. It fails the test after 20
// seconds.
func (s *Sink) Wait(t testing.TB, path string, n int) []Received {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		if got := s.Got(path); len(got) >= n {
			return got
		}
		select {
		case <-s.more:
		case <-time.After(50 * time.Millisecond):
		case <-limit:
			require.FailNow(t, "too little arrived", "%d of %d on %q", len(s.Got(path)), n, path)
		}
	}
}

// Deliver runs a webhook sender on the server's database and clock until stop is
// called or the test ends.
func (s *Server) Deliver() (stop func()) {
	s.T.Helper()
	return s.DeliverBy(webhook.NewGuard(s.Config.WebhookAllowCIDRs, false, "").DialContext)
}

// DeliverBy is like Deliver, with connections made by dial.
func (s *Server) DeliverBy(dial webhook.Dial) (stop func()) {
	s.T.Helper()
	keeper, err := secret.New(s.Config.SecretKey)
	require.NoError(s.T, err)
	sender := webhook.NewSender(webhook.Options{
		Pool: s.Pool, Keeper: keeper, Clock: s.Clock, Log: slog.New(slog.NewTextHandler(s.log, nil)), Dial: dial,
		Service: "Rail",
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { sender.Run(ctx); close(done) }()
	// Once, since the test's end calls it as well.
	stop = sync.OnceFunc(func() { cancel(); <-done })
	s.T.Cleanup(stop)
	return stop
}
