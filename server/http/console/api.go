package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"rail/gen/api"
	"rail/server/http/loopback"
	"rail/server/http/middleware"
	"rail/server/http/site"
	"rail/server/problem"
)

// localAPI sends requests to the API within this process, as the person in the request's context. They take the
// same path as requests from outside, with the same rules, limits and audit log.
type localAPI struct{ handler http.Handler }

// Do sends a request of the generated client. A status of 400 or above is returned as a *problem.Error.
func (d localAPI) Do(r *http.Request) (*http.Response, error) {
	if v, ok := site.Of[*visit](r.Context()); ok {
		v.showPosition(r.Header)
	}
	a := loopback.Ask(d.handler, r)
	if err := a.Refusal(); err != nil {
		return nil, err
	}
	return &http.Response{
		Status: http.StatusText(a.Status), StatusCode: a.Status, Header: a.Header(), Body: io.NopCloser(&a.Body),
		ContentLength: int64(a.Body.Len()), Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

// client returns the generated client of the API in this process.
func client(handler http.Handler) (*api.ClientWithResponses, error) {
	return api.NewClientWithResponses(loopback.URL, api.WithHTTPClient(localAPI{handler}))
}

// send sends a body to an operation and decodes the response into into, unless into is nil. ids fill the parameters
// of the operation's path, in order. The form's idempotency key makes a form that is sent twice one request.
func (v *visit) send(operation string, body, into any, ids ...string) error {
	o, ok := v.console.operations[operation]
	if !ok {
		return fmt.Errorf("console: the description has no operation %s", operation)
	}
	var content io.Reader = http.NoBody
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(raw)
	}
	address := loopback.URL + filled(o[1], ids)
	if len(ids) > 0 && v.program.ID != "" { // an object of another program is then a 404
		address += "?program_id=" + v.program.ID
	}
	r, err := http.NewRequestWithContext(v.Ctx(), o[0], address, content)
	if err != nil {
		return err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if once := v.value("once"); once != "" {
		r.Header.Set(middleware.HeaderIdempotencyKey, once+" "+operation+" "+strings.Join(ids, " "))
	}
	return v.receive(r, into)
}

// receive sends a request and decodes the response into into, unless into is nil.
func (v *visit) receive(r *http.Request, into any) error {
	res, err := v.console.localAPI.Do(r)
	if err != nil || into == nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // a buffer
	return json.NewDecoder(res.Body).Decode(into)
}

// filled returns a path of the description with ids in the place of its parameters.
func filled(path string, ids []string) string {
	for _, id := range ids {
		before, rest, ok := strings.Cut(path, "{")
		if !ok {
			return path
		}
		_, after, _ := strings.Cut(rest, "}")
		path = before + url.PathEscape(id) + after
	}
	return path
}

// get returns a request of an operation that reads.
func (v *visit) get(operation string, query url.Values, ids ...string) (*http.Request, error) {
	address := loopback.URL + filled(v.console.operations[operation][1], ids) + "?" + query.Encode()
	return http.NewRequestWithContext(v.Ctx(), http.MethodGet, address, http.NoBody)
}

// refused reports whether the person can fix an error, and returns the problem.
func refused(err error) (*problem.Error, bool) {
	p, ok := errors.AsType[*problem.Error](err)
	return p, ok && p.Status() < http.StatusInternalServerError
}
