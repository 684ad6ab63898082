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

// SeenOperations lists the operations that answered anything but a refusal.
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

// judge fails the test for a response that the description does not hold.
type judge struct {
	t    testing.TB
	next http.RoundTripper
}

// RoundTrip sends the request and judges the answer.
func (j *judge) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := j.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	_ = res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(body))
	operation, faults := described.Answer(r, res.StatusCode, res.Header, body)
	if operation != "" {
		note(operation, res.StatusCode)
	}
	for _, fault := range faults {
		j.t.Error(fault)
	}
	return res, nil
}

func note(operation string, status int) {
	seenMu.Lock()
	defer seenMu.Unlock()
	if seen[operation] == nil {
		seen[operation] = map[int]int{}
	}
	seen[operation][status]++
}
