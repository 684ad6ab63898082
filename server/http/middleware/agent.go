package middleware

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/labstack/echo/v4"

	"rail/openapi"
	"rail/server/auth"
	"rail/server/http/agent"
	"rail/server/problem"
)

// clientKey is the context's key of the MCP client. A request from outside cannot set it.
type clientKey struct{}

// fromClient is the value of via in logs, metrics and traces of requests that MCP clients ask for.
const fromClient = "mcp"

// For returns a context whose requests of the API an MCP client asks for. The audit log names the client. With an API
// key, operations that a person must confirm are refused; the person who confirms one may do it.
func For(ctx context.Context, client string) context.Context {
	return context.WithValue(ctx, clientKey{}, client)
}

// clientOf returns the client that For put into the context, or "".
func clientOf(ctx context.Context) string {
	client, _ := ctx.Value(clientKey{}).(string)
	return client
}

// Admit authenticates a request outside the description by its API key, and charges it to the key. The path must be
// free of the limits here (Free). A key that requires signatures is refused, since MCP clients sign nothing.
func (f *Front) Admit(c echo.Context) (auth.Key, error) {
	s := stateOf(c)
	if err := f.known(c, s); err != nil {
		return auth.Key{}, err
	}
	if s.key.SigningRequired {
		return auth.Key{}, problem.New(problem.SignatureRequired,
			"This API key requires signed requests, which MCP clients cannot send; use another key.")
	}
	b, ok := f.shared.take(c.Request().Context(), s.key.ID, s.key.RateLimit)
	s.budget = &b
	if !ok {
		return auth.Key{}, limited(b.limit)
	}
	return s.key, nil
}

// unconfirmed refuses an operation of an agent that a person must confirm.
func unconfirmed(s *state) error {
	if s.actor.Client == "" || s.actor.Person {
		return nil
	}
	args := agent.Arguments{}
	_ = json.Unmarshal(s.body, &args) // checkBody refuses a body that is not an object
	if agent.Confirmed(s.route.Operation, args) {
		return problem.New(problem.InsufficientScope, "A person must confirm this operation of an MCP client.")
	}
	return nil
}

// All returns the operations of the description.
func (d *Document) All() []openapi.Operation {
	out := make([]openapi.Operation, 0, len(d.routes))
	for _, r := range d.routes {
		out = append(out, r.Operation)
	}
	return out
}

// Check checks the arguments of a request of an operation against the description, as a request is checked that will be
// sent later.
func (d *Document) Check(o openapi.Operation, r *http.Request, path map[string]string) error {
	err := openapi3filter.ValidateRequest(r.Context(), &openapi3filter.RequestValidationInput{
		Request: r, PathParams: path, QueryParams: r.URL.Query(), Route: o.Route, Options: validation,
	})
	if err != nil {
		return d.refusal(err)
	}
	return nil
}
