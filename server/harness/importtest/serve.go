package importtest

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Faults are the errors of a fake API, counted over all requests. Zero is never.
type Faults struct {
	CutEvery      int // every n-th answer ends after half of its bytes
	FailEvery     int // every n-th request is answered with 500
	ThrottleEvery int // every n-th request is answered with 429
}

// Fake is the API of a product on a local port. Its handler shows a world.
type Fake struct {
	URL string

	mu       sync.Mutex
	faults   Faults
	requests int
}

// Serve serves a handler until the test ends.
func Serve(t testing.TB, api http.Handler, faults Faults) *Fake {
	t.Helper()
	f := &Fake{faults: faults}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f.serve(w, r, api) }))
	t.Cleanup(server.Close)
	f.URL = server.URL
	return f
}

// Requests returns the number of requests until now.
func (f *Fake) Requests() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.requests
}

// Set replaces the faults.
func (f *Fake) Set(faults Faults) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = faults
}

func (f *Fake) serve(w http.ResponseWriter, r *http.Request, api http.Handler) {
	f.mu.Lock()
	f.requests++
	n, faults := f.requests, f.faults
	f.mu.Unlock()
	nth := func(every int) bool { return every > 0 && n%every == every-1 }
	switch {
	case nth(faults.FailEvery):
		http.Error(w, `{"error": "try again"}`, http.StatusInternalServerError)
	case nth(faults.ThrottleEvery):
		http.Error(w, `{"error": "too many requests"}`, http.StatusTooManyRequests)
	case nth(faults.CutEvery):
		answer := httptest.NewRecorder()
		api.ServeHTTP(answer, r)
		body := answer.Body.Bytes()
		w.Header().Set("Content-Length", "1000000")
		_, _ = w.Write(body[:len(body)/2])
		panic(http.ErrAbortHandler)
	default:
		api.ServeHTTP(w, r)
	}
}
