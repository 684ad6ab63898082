package customer

import (
	"context"
	"errors"

	"rail/gen/db"
	"rail/server/problem"
	"rail/server/program/tracking"
	"rail/server/work"
)

// BrowserLead is a sign-up reported by a page, which anyone could forge.
type BrowserLead struct {
	ProgramID, ClickID, ReferralID string
	Email, Identifier              *string
}

// Lead signs up a visitor reported by a page, once. A page must not learn which customers the program has or
// refuses: both end like a new customer.
func (s Service) Lead(ctx context.Context, u *work.Unit, in BrowserLead) error {
	// Reports of one visit are serialized, so that the second finds the first.
	_, err := queries.ReferralLock(ctx, u.DB(), db.ReferralLockParams{ID: in.ReferralID, OrgID: u.OrgID})
	if err != nil {
		return work.Found(err, "click_id")
	}
	exists, err := queries.LeadExists(ctx, u.DB(), db.LeadExistsParams{
		ProgramID: in.ProgramID, OrgID: u.OrgID, Email: in.Email, Identifier: in.Identifier,
	})
	if err != nil || exists {
		return err
	}
	_, err = s.Create(ctx, u, Input{
		ProgramID: in.ProgramID, Email: in.Email, Identifier: in.Identifier,
		Route: tracking.Route{ClickID: &in.ClickID},
	})
	if _, refused := errors.AsType[*problem.Error](err); refused { // nothing is written yet, except a flag that stays
		return nil
	}
	return err
}
