package agent

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"

	"rail/server/http/loopback"
	"rail/server/problem"
)

// API calls operations within this process, with the headers of a caller from outside or as the person in the context.
type API struct {
	Handler   http.Handler
	Catalogue Catalogue
	// Header is sent with each request; it has the client's API key.
	Header http.Header
	// Address is the client's address, as the connection has it.
	Address string
}

// Do calls an operation. key is its Idempotency-Key, or "".
func (a API) Do(ctx context.Context, o Operation, args Arguments, key string) (*loopback.Answer, error) {
	r, err := o.Request(ctx, args)
	if err != nil {
		return nil, err
	}
	maps.Copy(r.Header, a.Header)
	r.RemoteAddr = a.Address
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	return loopback.Ask(a.Handler, r), nil
}

// Read calls an operation by name and decodes its answer; a refusal is a *problem.Error.
func (a API) Read(ctx context.Context, operation string, args Arguments, into any) error {
	o, ok := a.Catalogue[operation]
	if !ok {
		return problem.NotFound("operation")
	}
	answer, err := a.Do(ctx, o, args, "")
	if err == nil {
		err = answer.Refusal()
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(answer.Body.Bytes(), into)
}

// Of returns arguments from pairs of a name and a text.
func Of(pairs ...string) Arguments {
	out := Arguments{}
	for i := 0; i+1 < len(pairs); i += 2 {
		out[pairs[i]], _ = json.Marshal(pairs[i+1]) // a string always has a form in JSON
	}
	return out
}
