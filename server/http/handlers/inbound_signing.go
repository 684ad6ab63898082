package handlers

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/work"
)

// SetInboundSigning changes whether requests with the calling key must be
// signed. While they must, the request path has seen the signature of the call
// that turns it off (decisions, 2).
func (s *Server) SetInboundSigning(ctx context.Context, r api.SetInboundSigningRequestObject) (api.SetInboundSigningResponseObject, error) {
	c := work.From(ctx)
	err := queries.APIKeySetSigning(ctx, c.Later(), db.APIKeySetSigningParams{
		Required: r.Body.Required, Now: &c.Now, ID: c.Key.ID, OrgID: c.Key.OrgID,
	})
	c.OnCommit(s.Keys.Forget)
	return api.SetInboundSigning200JSONResponse{Object: "inbound_signing", Required: r.Body.Required, UpdatedAt: c.Now}, err
}
