package handlers

import (
	"context"
	"time"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/problem"
	"rail/server/program/partner"
	"rail/server/work"
)

// signInLife is how long a sign-in link works where nothing else is asked for.
const signInLife = 900 * time.Second

// CreatePartnerSSO mints a sign-in link for the portal; the newest link of a
// partner is the only one that works.
func (s *Server) CreatePartnerSSO(ctx context.Context, r api.CreatePartnerSSORequestObject) (api.CreatePartnerSSOResponseObject, error) {
	u := work.From(ctx)
	p, err := partner.Lock(ctx, u, r.ID)
	if err != nil {
		return nil, err
	}
	if p.Status != db.PartnerStatusActive {
		return nil, problem.New(problem.PartnerNotActive, "The partner is %s; only an active partner can sign in.", p.Status)
	}
	life := signInLife
	if r.Body != nil && r.Body.TTLSeconds != nil {
		life = time.Duration(*r.Body.TTLSeconds) * time.Second
	}
	url, expires, err := partner.SignInLink(ctx, u.Later(), s.BaseURL, p, u.Now, life)
	return api.CreatePartnerSSO200JSONResponse{Object: "magic_link", PartnerID: p.ID, URL: url, ExpiresAt: expires}, err
}
