package handlers

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/postgres/pgtx"
	"rail/server/program/claim"
	"rail/server/work"
)

// CreateAttributionToken issues a token by which AI assistants name a partner. It is not stored.
func (s *Server) CreateAttributionToken(ctx context.Context,
	r api.CreateAttributionTokenRequestObject) (api.CreateAttributionTokenResponseObject, error) {
	t, err := s.Customers.Claims.Issue(ctx, work.From(ctx), claim.Order{
		PartnerID: r.Body.PartnerID, LinkID: r.Body.LinkID, ExpiresAt: r.Body.ExpiresAt,
	})
	return api.CreateAttributionToken201JSONResponse{
		Object:    "attribution_token",
		ProgramID: t.ProgramID,
		PartnerID: t.PartnerID,
		LinkID:    t.LinkID,
		Provider:  t.Provider,
		Token:     t.Text,
		Snippet:   t.Snippet(),
		IssuedAt:  t.IssuedAt,
		ExpiresAt: t.ExpiresAt,
	}, err
}

// toAttributionResult returns the result of a claim; nil without one.
func toAttributionResult(c *db.AttributionClaim) *api.AttributionResult {
	if c == nil {
		return nil
	}
	return &api.AttributionResult{
		Status: api.AttributionStatus(c.Status), Reason: (*api.AttributionClaimReason)(c.Reason),
	}
}

// addAttributionClaims adds the stored claims of AI assistants.
func addAttributionClaims(ctx context.Context, tx pgtx.DBTX, orgID string, customers []api.Customer) error {
	rows, err := queries.AttributionClaims(ctx, tx, db.AttributionClaimsParams{
		CustomerIds: customerIDs(customers), OrgID: orgID,
	})
	for i := range customers {
		all := []api.AttributionClaim{}
		for _, r := range rows {
			if r.CustomerID == customers[i].ID {
				all = append(all, toAttributionClaim(r))
			}
		}
		customers[i].AttributionClaims = &all
	}
	return err
}

func toAttributionClaim(r db.AttributionClaim) api.AttributionClaim {
	return api.AttributionClaim{
		Protocol:    api.AttributionProtocol(r.Protocol),
		Status:      api.AttributionStatus(r.Status),
		Reason:      (*api.AttributionClaimReason)(r.Reason),
		SaleID:      r.SaleID,
		Touchpoint:  (*api.AttributionTouchpoint)(r.Touchpoint),
		PublisherID: r.PublisherID,
		CampaignID:  r.CampaignID,
		CreativeID:  r.CreativeID,
		SubID:       r.SubID,
		SourceURL:   r.SourceURL,
		CreatedAt:   r.CreatedAt,
	}
}
