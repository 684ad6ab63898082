package handlers

import (
	"context"

	"rail/gen/api"
	"rail/server/problem"
	"rail/server/program/partner"
	"rail/server/work"
)

// CreateEmbedToken opens a partner's portal within a page of the merchant.
func (s *Server) CreateEmbedToken(ctx context.Context,
	r api.CreateEmbedTokenRequestObject) (api.CreateEmbedTokenResponseObject, error) {
	b := r.Body
	if (b.PartnerID == nil) == (b.Partner == nil) {
		return nil, problem.Invalid("partner_id", "Exactly one of partner_id and partner is required.")
	}
	c := partner.Candidate{ProgramID: b.ProgramID}
	if b.Partner != nil {
		c.Email, c.GroupID = b.Partner.Email, b.Partner.GroupID
		c.FirstName, c.LastName = b.Partner.FirstName, b.Partner.LastName
	}
	e, err := partner.EmbedFor(ctx, work.From(ctx), c, b.PartnerID)
	return api.CreateEmbedToken201JSONResponse{
		Object:    "embed_token",
		PartnerID: e.PartnerID,
		URL:       s.BaseURL + "/embed/" + e.Token,
		Token:     e.Token,
		ExpiresAt: e.ExpiresAt,
	}, err
}
