package apitest

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"rail/openapi"
)

// described is the description, closed: a response member that it does not
// know is a fault.
var described = sync.OnceValue(func() routers.Router {
	spec, err := openapi3.NewLoader().LoadFromData(openapi.Bundle)
	if err != nil {
		panic(err)
	}
	spec.OpenAPI = "3.0.3"
	spec.Servers = nil
	closed := false
	for _, s := range spec.Components.Schemas {
		v := s.Value
		if v.Type.Is("object") && v.AdditionalProperties.Has == nil && v.AdditionalProperties.Schema == nil {
			v.AdditionalProperties = openapi3.AdditionalProperties{Has: &closed}
		}
	}
	router, err := gorillamux.NewRouter(spec)
	if err != nil {
		panic(err)
	}
	return router
})

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
	j.judge(r, res, body)
	return res, nil
}

func (j *judge) judge(r *http.Request, res *http.Response, body []byte) {
	route, params, err := described().FindRoute(r)
	if err != nil {
		return // a path or method that the description does not know
	}
	note(route.Operation.OperationID, res.StatusCode)
	in := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route},
		Status:                 res.StatusCode, Header: res.Header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	in.SetBodyBytes(body)
	if err := openapi3filter.ValidateResponse(context.Background(), in); err != nil {
		j.t.Errorf("%s %s answered %d, which the description does not hold: %v\n%s", r.Method, r.URL.Path, res.StatusCode, err, body)
	}
	for _, name := range []string{"X-Rail-Version", "Rail-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
		if res.Header.Get(name) == "" {
			j.t.Errorf("%s %s answered %d without %s", r.Method, r.URL.Path, res.StatusCode, name)
		}
	}
	if res.StatusCode != http.StatusNotModified && !strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") && strings.HasPrefix(r.URL.Path, "/v1/") {
		j.t.Errorf("%s %s answered %q", r.Method, r.URL.Path, res.Header.Get("Content-Type"))
	}
}

func note(operation string, status int) {
	seenMu.Lock()
	defer seenMu.Unlock()
	if seen[operation] == nil {
		seen[operation] = map[int]int{}
	}
	seen[operation][status]++
}
