package middleware

import (
	"context"

	"rail/server/auth"
	"rail/server/work"
)

// personKey is where As keeps who asks. No request from outside can have it.
type personKey struct{}

// As returns a context in which requests of the API are made by a person of the console, who has
// signed in to a page of this server. Its ID is the user's, and its scopes are those of the
// person's role; everything else on the path is as for a key.
func As(ctx context.Context, person auth.Key) context.Context {
	return context.WithValue(ctx, personKey{}, person)
}

// personOf returns the person in whose name this server itself asks, if any.
func personOf(ctx context.Context) (auth.Key, bool) {
	person, ok := ctx.Value(personKey{}).(auth.Key)
	return person, ok
}

// actor is who the changes of the request are made by.
func (s *state) actor() work.Actor {
	if s.person {
		return work.Actor{Kind: work.Person, ID: s.key.ID, User: s.key.ID}
	}
	return work.Actor{Kind: work.APIKey, ID: s.key.ID, User: s.key.UserID}
}
