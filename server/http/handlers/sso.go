package handlers

import (
	"context"
	"time"

	"rail/gen/api"
	"rail/server/program/partner"
	"rail/server/work"
)

// signInTTL is the default lifetime of a sign-in link.
const signInTTL = 900 * time.Second

// CreatePartnerSSO makes a sign-in link for the portal. Only the newest link of a partner works.
func (s *Server) CreatePartnerSSO(ctx context.Context,
	r api.CreatePartnerSSORequestObject) (api.CreatePartnerSSOResponseObject, error) {
	life := signInTTL
	if r.Body != nil && r.Body.TTLSeconds != nil {
		life = time.Duration(*r.Body.TTLSeconds) * time.Second
	}
	url, expires, err := partner.SignIn(ctx, work.From(ctx), s.BaseURL, r.ID, life)
	return api.CreatePartnerSSO200JSONResponse{Object: "magic_link", PartnerID: r.ID, URL: url, ExpiresAt: expires}, err
}
