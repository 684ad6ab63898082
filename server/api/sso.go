package api

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"time"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/call"
	"rail/server/problem"
	"rail/server/secret"
)

// signInLife is how long a sign-in link works where nothing else is asked for.
const signInLife = 900 * time.Second

// CreatePartnerSSO mints a sign-in link for the portal; the newest link of a
// partner is the only one that works.
func (s *Server) CreatePartnerSSO(ctx context.Context, r api.CreatePartnerSSORequestObject) (api.CreatePartnerSSOResponseObject, error) {
	c := call.From(ctx)
	p, err := lockPartner(ctx, c, r.ID, false)
	if err != nil {
		return nil, err
	}
	if p.Status != string(api.PartnerStatusActive) {
		return nil, problem.New(problem.PartnerNotActive, "The partner is %s; only an active partner can sign in.", p.Status)
	}
	life := signInLife
	if r.Body != nil && r.Body.TTLSeconds != nil {
		life = time.Duration(*r.Body.TTLSeconds) * time.Second
	}
	token, err := newToken()
	if err != nil {
		return nil, err
	}
	expires := c.Now.Plus(life)
	if err := queries.MagicLinkVoid(ctx, c.Later(), db.MagicLinkVoidParams{ProgramID: p.ProgramID, OrgID: p.OrgID, PartnerID: p.ID}); err != nil {
		return nil, err
	}
	err = queries.MagicLinkInsert(ctx, c.Later(), db.MagicLinkInsertParams{
		TokenHash: secret.HashToken(token), OrgID: p.OrgID, ProgramID: p.ProgramID, PartnerID: p.ID, CreatedAt: c.Now, ExpiresAt: expires,
	})
	return api.CreatePartnerSSO200JSONResponse{
		Object: "magic_link", PartnerID: p.ID, URL: s.BaseURL + "/portal/sso/" + token, ExpiresAt: expires,
	}, err
}

// newToken returns 32 random bytes in a form that an address can carry.
func newToken() (string, error) {
	var b [32]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(b[:]), nil
}
