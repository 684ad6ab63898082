package handlers

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/work"
)

// SetInboundSigning changes whether requests with the calling key must be signed. The call that
// turns signing off must be signed itself (decisions, 2).
func (s *Server) SetInboundSigning(ctx context.Context,
	r api.SetInboundSigningRequestObject) (api.SetInboundSigningResponseObject, error) {
	u := work.From(ctx)
	err := queries.APIKeySetSigning(ctx, u.Later(), db.APIKeySetSigningParams{
		Required: r.Body.Required, ID: u.Actor.ID, OrgID: u.OrgID,
	})
	u.OnCommit(s.Keys.Clear)
	return api.SetInboundSigning200JSONResponse{
		Object: "inbound_signing", Required: r.Body.Required, UpdatedAt: u.Now,
	}, err
}
