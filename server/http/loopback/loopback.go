// Package loopback sends requests to the API within this process, for the console's pages and for MCP clients. They
// take the path of requests from outside.
package loopback

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"rail/server/problem"
)

// URL is the base URL of these requests, which use only the path.
const URL = "http://rail"

// Answer is an answer of the API.
type Answer struct {
	Status int
	Body   bytes.Buffer

	header http.Header
	begun  bool
}

// Ask sends a request.
func Ask(handler http.Handler, r *http.Request) *Answer {
	a := &Answer{header: http.Header{}, Status: http.StatusOK}
	handler.ServeHTTP(a, r)
	return a
}

// Header returns the headers of the answer.
func (a *Answer) Header() http.Header { return a.header }

// WriteHeader sets the status.
func (a *Answer) WriteHeader(status int) {
	if !a.begun {
		a.Status, a.begun = status, true
	}
}

// Write adds to the body.
func (a *Answer) Write(p []byte) (int, error) {
	a.begun = true
	return a.Body.Write(p)
}

// Refusal returns the refusal as a *problem.Error; nil for a status below 400.
func (a *Answer) Refusal() error {
	if a.Status < http.StatusBadRequest {
		return nil
	}
	var body struct {
		Error struct {
			Code           problem.Code
			Message, Param string
		}
	}
	if err := json.Unmarshal(a.Body.Bytes(), &body); err != nil {
		return problem.Internal(fmt.Errorf("a refusal with status %d cannot be read: %w", a.Status, err))
	}
	p := problem.On(body.Error.Param, body.Error.Code, "%s", body.Error.Message)
	p.RetryAfter, _ = strconv.Atoi(a.header.Get("Retry-After")) // 0 for none
	return p
}
