package bar

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// received is one request that a sink got.
type received struct {
	header  http.Header
	body    string
	path    string
	arrived time.Time
}

// sink is a receiver of webhooks that answers 200 and keeps what it got where
// it is told to.
type sink struct {
	web   *httptest.Server
	mu    sync.Mutex
	kept  map[string][]received // by path; only paths that keep named
	now   map[string]int
	most  map[string]int
	delay time.Duration
}

func newSink() *sink {
	s := &sink{kept: map[string][]received{}, now: map[string]int{}, most: map[string]int{}}
	s.web = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

func (s *sink) close() { s.web.Close() }

// keep makes the sink remember what arrives on a path, and returns its address.
func (s *sink) keep(path string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[path] = []received{}
	return s.web.URL + path
}

func (s *sink) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // what is cut off comes again
	path := r.URL.Path
	s.mu.Lock()
	if _, kept := s.kept[path]; kept {
		s.kept[path] = append(s.kept[path], received{r.Header, string(body), path, time.Now()})
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

// got returns what arrived on a path.
func (s *sink) got(path string) []received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]received(nil), s.kept[path]...)
}

// atOnce is the highest number of requests in flight on a path.
func (s *sink) atOnce(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most[path]
}
