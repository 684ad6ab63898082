package middleware

import (
	"context"

	"rail/server/auth"
)

// personKey is the context's key of the person. A request from outside cannot set it.
type personKey struct{}

// console is the value of via in logs, metrics and traces of requests that the console's pages make.
const console = "console"

// As returns a context whose requests of the API are made by a person who is signed in to the console of this
// server. Authentication and the rate limit of keys are skipped; all other steps are those of a key's request.
// Logs, metrics and traces mark these requests with via=console, and rail_request_seconds leaves them out.
func As(ctx context.Context, person auth.Actor) context.Context {
	return context.WithValue(ctx, personKey{}, person)
}

// personOf returns the person that As put into the context, if any.
func personOf(ctx context.Context) (auth.Actor, bool) {
	person, ok := ctx.Value(personKey{}).(auth.Actor)
	return person, ok
}

// via returns how the request came: "" from outside, console from a page of the console, `mcp` from an MCP client.
func via(ctx context.Context) string {
	if _, ok := personOf(ctx); ok {
		return console
	}
	if clientOf(ctx) != "" {
		return fromClient
	}
	return ""
}
