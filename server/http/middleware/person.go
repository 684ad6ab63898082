package middleware

import (
	"context"

	"rail/server/auth"
	"rail/server/work"
)

// personKey is the context key of As. No external request can set it.
type personKey struct{}

// As returns a context in which API requests are made by a user who has signed in to the console.
// The key's ID is the user's, and its scopes are those of the user's role; all else is as for an
// API key.
func As(ctx context.Context, person auth.Key) context.Context {
	return context.WithValue(ctx, personKey{}, person)
}

// personOf returns the user of a request from the console, if any.
func personOf(ctx context.Context) (auth.Key, bool) {
	person, ok := ctx.Value(personKey{}).(auth.Key)
	return person, ok
}

// actor returns the actor of the request's changes.
func (s *state) actor() work.Actor {
	if s.person {
		return work.Actor{Kind: work.Person, ID: s.key.ID, User: s.key.ID}
	}
	return work.Actor{Kind: work.APIKey, ID: s.key.ID, User: s.key.UserID}
}
