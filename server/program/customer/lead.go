package customer

import (
	"context"
	"errors"

	"rail/gen/db"
	"rail/server/problem"
	"rail/server/program/tracking"
	"rail/server/work"
)

// BrowserLead is a visitor who signed up, as a page says: anybody could have.
type BrowserLead struct {
	ProgramID, ClickID, ReferralID string
	Email, Identifier              *string
}

// Lead signs up a visitor whom a page reports, once. A page must not learn whom the
// program knows or refuses: both end like a new customer.
func (s Service) Lead(ctx context.Context, u *work.Unit, in BrowserLead) error {
	// Those of one visit take turns, so that a second report finds the first.
	_, err := queries.ReferralLock(ctx, u.DB(), db.ReferralLockParams{ID: in.ReferralID, OrgID: u.OrgID})
	if err != nil {
		return work.Found(err, "click_id")
	}
	known, err := queries.LeadKnown(ctx, u.DB(), db.LeadKnownParams{
		ProgramID: in.ProgramID, OrgID: u.OrgID, Email: in.Email, Identifier: in.Identifier,
	})
	if err != nil || known {
		return err
	}
	_, err = s.Create(ctx, u, Input{
		ProgramID: in.ProgramID, Email: in.Email, Identifier: in.Identifier,
		Route: tracking.Route{ClickID: &in.ClickID},
	})
	if _, refused := errors.AsType[*problem.Error](err); refused { // before a write, but for a flag that stays
		return nil
	}
	return err
}
