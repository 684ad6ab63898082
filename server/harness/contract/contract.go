// Package contract checks answers of the server against the description of the API: status, headers and body. It
// is used by tests and by the bar, and is stricter than the description: members that it does not name are
// faults.
package contract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"rail/openapi"
)

// Spec returns the description with closed schemas: an unknown member of a response
// is a fault.
var Spec = sync.OnceValue(func() *openapi3.T {
	spec, err := openapi.Read(openapi.Bundle)
	if err != nil {
		panic(err) // it is part of the program
	}
	// The server's address is not checked.
	spec.Servers = nil
	closed := false
	// Schemas with an explicit additionalProperties do not change.
	for _, s := range spec.Components.Schemas {
		v := s.Value
		if v.Type.Is("object") && v.AdditionalProperties.Has == nil && v.AdditionalProperties.Schema == nil {
			v.AdditionalProperties = openapi3.AdditionalProperties{Has: &closed}
		}
	}
	return spec
})

// router finds the operation of a request. It is created once, because that is slow.
var router = sync.OnceValue(func() routers.Router {
	r, err := gorillamux.NewRouter(Spec())
	if err != nil {
		panic(err)
	}
	return r
})

// Answer returns the operation of a request and the faults of its answer. operation
// is "" for a request that is not in the description.
func Answer(r *http.Request, status int, header http.Header, body []byte) (operation string, faults []error) {
	route, params, err := router().FindRoute(r)
	if err != nil { // a path or method that is not in the description
		return "", livemode(r, header)
	}
	return route.Operation.OperationID, Of(route, params, r, status, header, body)
}

// livemode checks that X-Rail-Livemode is "false" in answers to test keys, under the
// paths of the API, and absent in others.
func livemode(r *http.Request, header http.Header) []error {
	want, sent := "", r.Header.Values("Authorization")
	if len(sent) == 1 && strings.HasPrefix(sent[0], "Bearer rail_test_") {
		want = "false"
	}
	if got := header.Get("X-Rail-Livemode"); got != want && strings.HasPrefix(r.URL.Path, "/v1/") {
		return []error{fmt.Errorf("%s %s answered with X-Rail-Livemode %q instead of %q", r.Method, r.URL.Path, got, want)}
	}
	return nil
}

// Of returns the faults of the answer of a known operation, all of them. An error of 400 and above must also
// carry a code that the operation lists.
func Of(route *routers.Route, params map[string]string, r *http.Request, status int, header http.Header,
	body []byte) (faults []error) {
	fault := func(format string, args ...any) {
		faults = append(faults,
			fmt.Errorf("%s %s answered %d"+format, append([]any{r.Method, r.URL.Path, status}, args...)...))
	}
	in := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route},
		Status:                 status, Header: header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	in.SetBodyBytes(body)
	if err := openapi3filter.ValidateResponse(context.Background(), in); err != nil {
		fault(", which the description does not allow: %v\n%s", err, body)
	}
	// ValidateResponse skips absent headers, so they are checked here.
	for name, h := range Spec().Components.Headers {
		if err := headerFault(h.Value, header.Get(name)); err != nil {
			fault(" with %s %q: %v", name, header.Get(name), err)
		}
	}
	for _, name := range []string{"Retry-After", "WWW-Authenticate"} {
		described := route.Operation.Responses.Status(status)
		if header.Get(name) != "" && described != nil && described.Value.Headers[name] == nil {
			fault(" with %s, which the description does not have there", name)
		}
	}
	if status >= http.StatusBadRequest {
		for _, err := range refusalFaults(route.Operation.Responses.Status(status), header, body) {
			fault(": %w", err)
		}
	}
	if kind := header.Get("Content-Type"); status != http.StatusNotModified && strings.HasPrefix(r.URL.Path, "/v1/") &&
		!slices.ContainsFunc(kinds, func(prefix string) bool { return strings.HasPrefix(kind, prefix) }) {
		fault(" with the type %q", kind)
	}
	return append(faults, livemode(r, header)...)
}

// kinds are the types of answers.
var kinds = []string{"application/json", "text/csv", "application/pdf"}

// refusalFaults returns the faults of the error of an answer: another id than that of
// the request, or a code of which the operation has no example.
func refusalFaults(described *openapi3.ResponseRef, header http.Header, body []byte) (faults []error) {
	var in struct {
		Error struct {
			Code      string
			RequestID string `json:"request_id"`
		}
	}
	if err := json.Unmarshal(body, &in); err != nil || described == nil {
		return nil // Of checks the body's schema
	}
	// A replayed answer has the id of the request that it was first given to.
	if id := header.Get("Rail-Request-Id"); in.Error.RequestID != id && header.Get("Idempotent-Replayed") == "" {
		faults = append(faults, fmt.Errorf("the request id is %q in the error and %q in the header", in.Error.RequestID, id))
	}
	if content := described.Value.Content["application/json"]; content != nil && content.Examples[in.Error.Code] == nil {
		faults = append(faults, fmt.Errorf("the operation does not name the code %s", in.Error.Code))
	}
	return faults
}

// headerFault returns the fault of a header of an answer, "" for an absent header.
func headerFault(h *openapi3.Header, value string) error {
	if value == "" {
		if h.Required {
			return errors.New("every answer has it")
		}
		return nil
	}
	if h.Schema.Value.Type.Is("integer") {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return err
		}
		return h.Schema.Value.VisitJSON(float64(n))
	}
	return h.Schema.Value.VisitJSON(value)
}
