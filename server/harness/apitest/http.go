package apitest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/stretchr/testify/require"
)

// Answer is a response as an untyped client sees it. Its methods return zero values for absent members, so that a
// comparison fails with the expected value.
type Answer struct {
	Status int
	Header http.Header
	Raw    []byte
	Length int64 // Content-Length, or -1 without that header
	Body   map[string]any
}

// Code returns error.code of a refusal, or "".
func (a Answer) Code() string { return a.errorField("code") }

// Param returns error.param of a refusal, or "".
func (a Answer) Param() string { return a.errorField("param") }

// errorField returns a member of the error object.
func (a Answer) errorField(name string) string {
	e, ok := a.Body["error"].(map[string]any)
	if !ok {
		return ""
	}
	s, _ := e[name].(string)
	return s
}

// String returns a member of the body as text, or "".
func (a Answer) String(name string) string {
	s, _ := a.Body[name].(string)
	return s
}

// Int returns a member of the body as an integer; numbers keep their digits.
func (a Answer) Int(name string) int64 {
	n, _ := a.Body[name].(json.Number)
	i, _ := n.Int64()
	return i
}

// Data returns the objects of a list.
func (a Answer) Data() []map[string]any {
	list, _ := a.Body["data"].([]any)
	out := make([]map[string]any, 0, len(list))
	for _, v := range list {
		if m, ok := v.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// M is a JSON object.
type M = map[string]any

// Get requests a path with the server's key.
func (s *Server) Get(path string) Answer { return s.Do(http.MethodGet, path, s.Key, nil) }

// Post sends a body (an M, or a string of raw JSON, or nil) with the server's key.
func (s *Server) Post(path string, body any) Answer {
	return s.Do(http.MethodPost, path, s.Key, body)
}

// Delete deletes an object with the server's key.
func (s *Server) Delete(path string) Answer { return s.Do(http.MethodDelete, path, s.Key, nil) }

// Do sends a request; headers are pairs of a name and a value.
func (s *Server) Do(method, path, key string, body any, headers ...string) Answer {
	s.T.Helper()
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(b)
	case []byte:
		reader = bytes.NewReader(b)
	default:
		raw, err := json.Marshal(b)
		require.NoError(s.T, err)
		reader = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(s.T.Context(), method, s.URL+path, reader)
	require.NoError(s.T, err)
	if reader != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return s.Send(r)
}

// Send sends a request unchanged. The answer is checked against the description. Redirects are answers too, and not
// followed.
func (s *Server) Send(r *http.Request) Answer {
	s.T.Helper()
	client := &http.Client{
		Transport:     &checker{s: s, next: http.DefaultTransport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(r)
	require.NoError(s.T, err)
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	require.NoError(s.T, err)
	a := Answer{Status: res.StatusCode, Header: res.Header, Raw: raw, Length: res.ContentLength}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	_ = dec.Decode(&a.Body) // pages and empty bodies are not JSON
	return a
}

// Must fails the test unless the answer has the status.
func (s *Server) Must(status int, a Answer) Answer {
	s.T.Helper()
	require.Equal(s.T, status, a.Status, "%s", a.Raw)
	return a
}

// Refused fails the test unless the answer is a refusal with this status, code and
// param.
func (s *Server) Refused(status int, code, param string, a Answer) Answer {
	s.T.Helper()
	require.Equal(s.T, status, a.Status, "%s", a.Raw)
	require.Equal(s.T, code, a.Code(), "%s", a.Raw)
	require.Equal(s.T, param, a.Param(), "%s", a.Raw)
	return a
}

// decoded reads a JSON text as an answer's body.
func decoded(text string) Answer {
	a := Answer{Raw: []byte(text)}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	_ = dec.Decode(&a.Body) // an event that is not an object has no members
	return a
}
