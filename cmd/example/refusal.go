package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"rail/gen/api"
)

// refusal is an answer with an error. Programs branch on its code, which never changes; its message is for people,
// and may.
type refusal struct {
	status int
	why    api.Error
}

func (r refusal) Error() string {
	return fmt.Sprintf("%d %s: %s", r.status, r.why.Code, r.why.Message)
}

// code returns the code of a refusal, or "".
func code(err error) api.ErrorCode {
	var r refusal
	errors.As(err, &r)
	return r.why.Code
}

// strict is an HTTP client that returns refusals as errors, so that a reply always has the typed body. Without it,
// the caller would have to check each reply for nil.
type strict struct{ http.Client }

// Do sends a request and returns a refusal as an error.
func (s *strict) Do(r *http.Request) (*http.Response, error) {
	res, err := s.Client.Do(r)
	if err != nil || res.StatusCode < 300 {
		return res, err
	}
	defer res.Body.Close() //nolint:errcheck // only read
	// A page of a proxy may be of any length.
	raw, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	var body struct {
		Error api.Error `json:"error"`
	}
	if json.Unmarshal(raw, &body) != nil || body.Error.Code == "" { // not from Rail: a proxy's page
		return nil, fmt.Errorf("status %d: %.200s", res.StatusCode, raw)
	}
	return nil, refusal{res.StatusCode, body.Error}
}
