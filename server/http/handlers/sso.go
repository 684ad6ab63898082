package handlers

import (
	"context"
	"time"

	"rail/gen/api"
	"rail/server/program/partner"
	"rail/server/work"
)

// signInLife is how long a sign-in link works unless the body gives ttl_seconds.
const signInLife = 900 * time.Second

// CreatePartnerSSO mints a sign-in link for the portal; the newest link of a
// partner is the only one that works.
func (s *Server) CreatePartnerSSO(
	ctx context.Context, r api.CreatePartnerSSORequestObject,
) (api.CreatePartnerSSOResponseObject, error) {
	life := signInLife
	if r.Body != nil && r.Body.TTLSeconds != nil {
		life = time.Duration(*r.Body.TTLSeconds) * time.Second
	}
	url, expires, err := partner.SignIn(ctx, work.From(ctx), s.BaseURL, r.ID, life)
	return api.CreatePartnerSSO200JSONResponse{Object: "magic_link", PartnerID: r.ID, URL: url, ExpiresAt: expires}, err
}
