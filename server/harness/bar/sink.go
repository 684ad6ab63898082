package bar

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// received is one request to a sink.
type received struct {
	header  http.Header
	body    string
	path    string
	arrived time.Time
}

// sink is a receiver of webhooks that answers 200. It keeps the requests of the
// paths of keep.
type sink struct {
	web      *httptest.Server
	mu       sync.Mutex
	requests map[string][]received // by path; only the paths of keep
	now      map[string]int        // requests in flight, by path
	most     map[string]int        // the most of them at once
	delay    time.Duration         // before each answer
}

// newSink listens on a free port of this machine.
func newSink() *sink {
	s := &sink{requests: map[string][]received{}, now: map[string]int{}, most: map[string]int{}}
	s.web = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// close ends the receiver and its connections.
func (s *sink) close() { s.web.Close() }

// keep keeps the requests to a path and returns its URL.
func (s *sink) keep(path string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[path] = []received{}
	return s.web.URL + path
}

// serve answers 200 to every path, so that events which no stage looks at do not fill the
// queues with retries.
func (s *sink) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // the sender repeats a request that is cut off
	path := r.URL.Path
	s.mu.Lock()
	if _, ok := s.requests[path]; ok {
		s.requests[path] = append(s.requests[path], received{r.Header, string(body), path, time.Now()})
	}
	s.now[path]++
	s.most[path] = max(s.most[path], s.now[path])
	delay := s.delay
	s.mu.Unlock()
	time.Sleep(delay)
	w.WriteHeader(http.StatusOK)
	s.mu.Lock()
	s.now[path]--
	s.mu.Unlock()
}

// got returns the kept requests to a path.
func (s *sink) got(path string) []received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]received(nil), s.requests[path]...)
}

// atOnce returns the highest number of requests in flight on a path.
func (s *sink) atOnce(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most[path]
}
