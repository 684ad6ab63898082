package handlers

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/auditlog"
	"rail/server/problem"
	"rail/server/work"
)

// Choices are the mails that a partner wants (decisions, 54).
type Choices struct {
	FirstReferral bool `json:"email_first_referral"`
	NewReferral   bool `json:"email_new_referral"`
	PayoutPaid    bool `json:"email_payout_paid"`
}

// SavePartnerChoices sets the mails that a partner wants, for the portal: over
// the API they are read-only. Choices that are what they were change nothing.
func (s *Server) SavePartnerChoices(ctx context.Context, partnerID string, to Choices) error {
	u := work.From(ctx)
	p, err := lockSelf(ctx, u, partnerID)
	if err != nil {
		return err
	}
	before := Choices{p.EmailFirstReferral, p.EmailNewReferral, p.EmailPayoutPaid}
	if before == to {
		return nil
	}
	err = queries.PartnerSetChoices(ctx, u.Later(), db.PartnerSetChoicesParams{
		EmailFirstReferral: to.FirstReferral, EmailNewReferral: to.NewReferral, EmailPayoutPaid: to.PayoutPaid, UpdatedAt: u.Now, ID: p.ID, OrgID: p.OrgID,
	})
	if err != nil {
		return err
	}
	tellPartnerUpdated(u, p)
	return s.AuditSelf(ctx, p, "partner.updated", p.ID, before, to)
}

// lockSelf locks the partner of a session, who may have been suspended while the
// form was under way.
func lockSelf(ctx context.Context, u *work.Unit, id string) (db.Partner, error) {
	p, err := lockPartner(ctx, u, id, false)
	if err == nil && p.Status != string(api.PartnerStatusActive) {
		err = problem.New(problem.PartnerNotActive, "The partner is %s.", p.Status)
	}
	return p, err
}

// UpdatePartnerSelf is UpdatePartner by the partner in the portal: it is in the
// audit log, and ends the onboarding once a name and a payout method are saved
// (decisions, 54).
func (s *Server) UpdatePartnerSelf(ctx context.Context, partnerID string, body *api.PartnerUpdate) error {
	u := work.From(ctx)
	before, err := lockSelf(ctx, u, partnerID)
	if err != nil {
		return err
	}
	if _, err := s.UpdatePartner(ctx, api.UpdatePartnerRequestObject{ID: partnerID, Body: body}); err != nil {
		return err
	}
	after, err := lockPartner(ctx, u, partnerID, false)
	if err != nil {
		return err
	}
	if named(after) && after.PayoutMethod != nil && !after.CompletedOnboarding {
		after.CompletedOnboarding = true
		if u.Events.Len() == 0 { // one change, one event
			tellPartnerUpdated(u, after)
		}
		if err := queries.PartnerOnboarded(ctx, u.Later(), db.PartnerOnboardedParams{UpdatedAt: u.Now, ID: after.ID, OrgID: after.OrgID}); err != nil {
			return err
		}
	}
	was, is, err := differences(before, after)
	if err != nil || len(is) == 0 {
		return err
	}
	return s.AuditSelf(ctx, before, "partner.updated", before.ID, was, is)
}

func named(p db.Partner) bool {
	return p.FirstName != nil || p.LastName != nil || p.DisplayName != nil || p.CompanyName != nil
}

// differences are the fields of a partner that a change touched. Of the payout
// details it tells no more than that they changed.
func differences(before, after db.Partner) (was, is map[string]any, err error) {
	if was, err = fields(toPartner(before)); err != nil {
		return nil, nil, err
	}
	if is, err = fields(toPartner(after)); err != nil {
		return nil, nil, err
	}
	for name := range is {
		if name == "updated_at" || reflect.DeepEqual(was[name], is[name]) {
			delete(was, name)
			delete(is, name)
		}
	}
	if !bytes.Equal(before.PayoutDetails, after.PayoutDetails) {
		is["payout_details"] = "changed"
	}
	return was, is, nil
}

func fields(v any) (out map[string]any, err error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return out, json.Unmarshal(raw, &out)
}

// AuditSelf writes what a partner did in the portal to the audit log: no API key
// did it, so the reason names the partner.
func (s *Server) AuditSelf(ctx context.Context, p db.Partner, action, targetID string, before, after any) error {
	reason := "By the partner " + p.ID + " in the portal."
	return auditlog.Record(ctx, work.From(ctx), auditlog.Entry{ProgramID: p.ProgramID, Action: action, TargetID: targetID, Reason: &reason, Before: before, After: after})
}

// TrackingURL is a page's address with a tracking value.
func TrackingURL(destination, param, value string) string {
	return trackingURL(destination, param, value)
}
