package dataset

import (
	"context"

	"rail/gen/db"
	"rail/server/auth"
	"rail/server/clock"
	"rail/server/http/middleware"
	"rail/server/ident"
	"rail/server/secret"
)

// NoLimit is a rate limit that no load test reaches.
const NoLimit = 1_000_000

// Key is an API key to add.
type Key struct {
	Org    string
	Live   bool
	Limit  int32 // requests a second
	Scopes []string
}

// Insert adds the key and returns its token.
func (k Key) Insert(ctx context.Context, to db.DBTX, keeper *secret.Keeper, now clock.Time) (string, error) {
	token := auth.NewToken(k.Live)
	return token, db.New().APIKeyInsert(ctx, to, db.APIKeyInsertParams{
		ID: ident.New(ident.APIKey), OrgID: k.Org, UserID: ident.New(ident.User), Hash: keeper.HashAPIKey(token),
		Last4: token[len(token)-4:], Livemode: k.Live, Scopes: append([]string{}, k.Scopes...), RateLimit: k.Limit,
		Version: middleware.Version, CreatedAt: now,
	})
}
