// Package contract tells whether an answer of the server is one that the
// description of the API holds: its status, its headers and its body.
package contract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"rail/openapi"
)

// Spec is the description, closed: a response member that it does not know is
// a fault.
var Spec = sync.OnceValue(func() *openapi3.T {
	spec, err := openapi.Read(openapi.Bundle)
	if err != nil {
		panic(err) // it is part of the program
	}
	spec.Servers = nil
	closed := false
	for _, s := range spec.Components.Schemas {
		v := s.Value
		if v.Type.Is("object") && v.AdditionalProperties.Has == nil && v.AdditionalProperties.Schema == nil {
			v.AdditionalProperties = openapi3.AdditionalProperties{Has: &closed}
		}
	}
	return spec
})

var router = sync.OnceValue(func() routers.Router {
	r, err := gorillamux.NewRouter(Spec())
	if err != nil {
		panic(err)
	}
	return r
})

// Answer returns the operation that a request asked for, "" where the
// description knows none, and everything that is wrong with the answer.
func Answer(r *http.Request, status int, header http.Header, body []byte) (operation string, faults []error) {
	route, params, err := router().FindRoute(r)
	if err != nil { // a path or method that the description does not know
		return "", livemode(r, header)
	}
	return route.Operation.OperationID, Of(route, params, r, status, header, body)
}

// livemode tells whether the answer to a test key says that it is one, and no other
// does, under the paths of the API.
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

// Of judges the answer of an operation that is known.
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
		fault(", which the description does not hold: %v\n%s", err, body)
	}
	for name, h := range Spec().Components.Headers {
		if err := headerFault(h.Value, header.Get(name)); err != nil {
			fault(" with %s %q: %v", name, header.Get(name), err)
		}
	}
	if status >= http.StatusBadRequest {
		for _, err := range refusalFaults(route.Operation.Responses.Status(status), header, body) {
			fault(": %w", err)
		}
	}
	if status != http.StatusNotModified && !strings.HasPrefix(header.Get("Content-Type"), "application/json") &&
		strings.HasPrefix(r.URL.Path, "/v1/") {
		fault(" with the type %q", header.Get("Content-Type"))
	}
	return append(faults, livemode(r, header)...)
}

// refusalFaults tells what is wrong with the error of an answer: its id is not
// that of the request, or its code none that the operation names by an example.
func refusalFaults(described *openapi3.ResponseRef, header http.Header, body []byte) (faults []error) {
	var in struct {
		Error struct {
			Code      string
			RequestID string `json:"request_id"`
		}
	}
	if err := json.Unmarshal(body, &in); err != nil || described == nil {
		return nil // which the schema judges
	}
	if id := header.Get("Rail-Request-Id"); in.Error.RequestID != id && header.Get("Idempotent-Replayed") == "" {
		faults = append(faults, fmt.Errorf("the request id is %q in the error and %q in the header", in.Error.RequestID, id))
	}
	if content := described.Value.Content["application/json"]; content != nil && content.Examples[in.Error.Code] == nil {
		faults = append(faults, fmt.Errorf("the operation does not name the code %s", in.Error.Code))
	}
	return faults
}

// headerFault tells what is wrong with a header of an answer, which is "" where
// it is absent.
func headerFault(h *openapi3.Header, given string) error {
	if given == "" {
		if h.Required {
			return errors.New("every answer has it")
		}
		return nil
	}
	if h.Schema.Value.Type.Is("integer") {
		n, err := strconv.ParseInt(given, 10, 64)
		if err != nil {
			return err
		}
		return h.Schema.Value.VisitJSON(float64(n))
	}
	return h.Schema.Value.VisitJSON(given)
}
