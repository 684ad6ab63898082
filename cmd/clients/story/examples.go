package story

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rail/cmd/clients/model"
)

// Examples is a server that takes the examples of the description: it compares each request with the example of its
// operation, and answers with that of the answer.
type Examples struct {
	URL  string
	mu   sync.Mutex
	left map[string]model.Method // the operations without a request, by method and path
}

// NewExamples starts a server with the examples of all methods.
func NewExamples(t *testing.T, m *model.Model) *Examples {
	t.Helper()
	e := &Examples{left: map[string]model.Method{}}
	for _, r := range m.Resources {
		for _, method := range r.Methods {
			path := method.Path
			for name, value := range method.Example.Path {
				path = strings.Replace(path, "{"+name+"}", url.PathEscape(fmt.Sprint(value)), 1)
			}
			require.NotContains(t, e.left, method.HTTP+" "+path, "two operations have one example")
			e.left[method.HTTP+" "+path] = method
		}
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		defer e.mu.Unlock()
		name := r.Method + " " + r.URL.EscapedPath()
		method, ok := e.left[name]
		delete(e.left, name)
		// A 400 ends the call of the client: it is not repeated.
		if !assert.True(t, ok, "no operation, or a second request: %s", name) || !same(t, method, r) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_, _ = io.WriteString(w, example(method))
	}))
	t.Cleanup(web.Close)
	e.URL = web.URL
	return e
}

// Done checks that every operation had one request.
func (e *Examples) Done(t *testing.T) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	for name := range e.left {
		t.Errorf("no request: %s", name)
	}
}

// same reports whether a request is the example of its operation.
func same(t *testing.T, m model.Method, r *http.Request) bool {
	t.Helper()
	want, got := url.Values{}, r.URL.Query()
	for name, value := range m.Example.Query {
		want.Set(name, fmt.Sprint(value))
	}
	body, err := io.ReadAll(r.Body)
	ok := assert.NoError(t, err) && assert.Equal(t, want, got, m.OperationID) &&
		assert.Equal(t, m.Idempotent, r.Header.Get("Idempotency-Key") != "", m.OperationID)
	if m.Body == nil {
		return ok && assert.Empty(t, string(body), m.OperationID)
	}
	return ok && assert.Equal(t, Plain(t, model.JSON.Write(m.Example.Body, "", 0)), Plain(t, string(body)), m.OperationID)
}

// Plain decodes JSON, with each time in one form.
func Plain(t *testing.T, raw string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(raw), &v); err != nil {
		t.Errorf("%s: %v", raw, err)
		return nil
	}
	var walk func(any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for name, one := range v {
				v[name] = walk(one)
			}
		case []any:
			for i, one := range v {
				v[i] = walk(one)
			}
		case string:
			if at, err := time.Parse(time.RFC3339, v); err == nil {
				return at.UTC()
			}
		}
		return v
	}
	return walk(v)
}

// example returns the answer of a method: its example, of which a list is the last page.
func example(m model.Method) string {
	if m.Answer.Text {
		return "text"
	}
	answer, ok := m.Example.Answer.(model.Members)
	if !ok {
		return "{}"
	}
	if m.Page != nil {
		var last model.Members
		for _, one := range answer {
			if one.Name == m.Page.More {
				one.Value = m.Page.OfPage
			}
			last = append(last, one)
		}
		answer = last
	}
	return model.JSON.Write(answer, "", 0)
}
