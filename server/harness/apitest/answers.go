package apitest

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"sync"

	described "rail/server/harness/contract"
)

// succeeded is the set of the operations that have answered a server's requests with a success.
type succeeded struct {
	mu  sync.Mutex
	set map[string]bool
}

// Succeeded returns the operations that have answered this server's requests with a success.
func (s *Server) Succeeded() map[string]bool {
	s.succeeded.mu.Lock()
	defer s.succeeded.mu.Unlock()
	return maps.Clone(s.succeeded.set)
}

// checker is a transport that fails the test for a response that the description does
// not allow.
type checker struct {
	s    *Server
	next http.RoundTripper
}

// RoundTrip sends the request and checks the response.
func (c *checker) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := c.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	// The caller reads the body again.
	_ = res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(body))
	operation, faults := described.Answer(r, res.StatusCode, res.Header, body)
	if operation != "" && res.StatusCode < 300 {
		c.s.succeeded.add(operation)
	}
	for _, fault := range faults {
		c.s.T.Error(fault)
	}
	return res, nil
}

// add adds an operation to the set.
func (s *succeeded) add(operation string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set[operation] = true
}
