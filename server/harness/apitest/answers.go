package apitest

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"

	described "rail/server/harness/contract"
)

// seen counts the answers of all tests of this binary, by operation and status.
var (
	seenMu sync.Mutex
	seen   = map[string]map[int]int{}
)

// Seen returns how often each operation answered with each status.
func Seen() map[string]map[int]int {
	seenMu.Lock()
	defer seenMu.Unlock()
	out := map[string]map[int]int{}
	for op, statuses := range seen {
		out[op] = maps.Clone(statuses)
	}
	return out
}

// SeenOperations returns the operations that answered with a success, sorted.
func SeenOperations() []string {
	var out []string
	for op, statuses := range Seen() {
		for status := range statuses {
			if status < 300 {
				out = append(out, op)
				break
			}
		}
	}
	slices.Sort(out)
	return out
}

// checker is a transport that fails the test for a response that the description does
// not allow.
type checker struct {
	t    testing.TB
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
	if operation != "" {
		note(operation, res.StatusCode)
	}
	for _, fault := range faults {
		c.t.Error(fault)
	}
	return res, nil
}

// note counts an answer for Seen, with which tests find operations that were never called.
func note(operation string, status int) {
	seenMu.Lock()
	defer seenMu.Unlock()
	if seen[operation] == nil {
		seen[operation] = map[int]int{}
	}
	seen[operation][status]++
}
