package handlers

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"time"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/clock"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/work"
)

// signInLife is how long a sign-in link works where nothing else is asked for.
const signInLife = 900 * time.Second

// CreatePartnerSSO mints a sign-in link for the portal; the newest link of a
// partner is the only one that works.
func (s *Server) CreatePartnerSSO(ctx context.Context, r api.CreatePartnerSSORequestObject) (api.CreatePartnerSSOResponseObject, error) {
	u := work.From(ctx)
	p, err := lockPartner(ctx, u, r.ID, false)
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
	url, expires, err := SignInLink(ctx, u.Later(), s.BaseURL, p, u.Now, life)
	return api.CreatePartnerSSO200JSONResponse{Object: "magic_link", PartnerID: p.ID, URL: url, ExpiresAt: expires}, err
}

// SignInLink makes the address that signs a partner into the portal of a service,
// once, and makes earlier ones void.
func SignInLink(ctx context.Context, q db.DBTX, base string, p db.Partner, now clock.Time, life time.Duration) (string, clock.Time, error) {
	expires := now.Plus(life)
	token, err := newToken()
	if err != nil {
		return "", expires, err
	}
	if err := queries.MagicLinkVoid(ctx, q, db.MagicLinkVoidParams{ProgramID: p.ProgramID, OrgID: p.OrgID, PartnerID: p.ID}); err != nil {
		return "", expires, err
	}
	err = queries.MagicLinkInsert(ctx, q, db.MagicLinkInsertParams{
		TokenHash: secret.HashToken(token), OrgID: p.OrgID, ProgramID: p.ProgramID, PartnerID: p.ID, CreatedAt: now, ExpiresAt: expires,
	})
	return base + "/portal/sso/" + token, expires, err
}

// newToken returns 32 random bytes in a form that an address can carry.
func newToken() (string, error) {
	var b [32]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(b[:]), nil
}
