package partner

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"

	"rail/gen/db"
	"rail/server/problem"
	"rail/server/work"
	"rail/server/work/auditlog"
)

// Choices are the mails that a partner chose to get (decisions, 54).
type Choices struct {
	FirstReferral bool `json:"email_first_referral"`
	NewReferral   bool `json:"email_new_referral"`
	PayoutPaid    bool `json:"email_payout_paid"`
}

// ChoicesOf returns a partner's choices of mails.
func ChoicesOf(p db.Partner) Choices {
	return Choices{p.EmailFirstReferral, p.EmailNewReferral, p.EmailPayoutPaid}
}

// SaveChoices sets the mails that a partner gets, on behalf of the partner: the API shows them read-only. Equal
// choices change nothing.
func SaveChoices(ctx context.Context, u *work.Unit, partnerID string, to Choices) error {
	p, err := lockSelf(ctx, u, partnerID)
	if err != nil {
		return err
	}
	before := ChoicesOf(p)
	if before == to {
		return nil
	}
	err = queries.PartnerSetChoices(ctx, u.Later(), db.PartnerSetChoicesParams{
		EmailFirstReferral: to.FirstReferral, EmailNewReferral: to.NewReferral, EmailPayoutPaid: to.PayoutPaid,
		UpdatedAt: u.Now, ID: p.ID, OrgID: p.OrgID,
	})
	if err != nil {
		return err
	}
	recordUpdated(u, p)
	return AuditSelf(ctx, u, p, "partner.updated", p.ID, before, to)
}

// ranked is the audit log's record of a partner's choice about the leaderboard.
type ranked struct {
	OnLeaderboard bool `json:"on_leaderboard"`
}

// SaveRanked sets whether a partner takes part in the leaderboard, on behalf of the partner. An equal choice changes
// nothing.
func SaveRanked(ctx context.Context, u *work.Unit, partnerID string, to bool) error {
	p, err := lockSelf(ctx, u, partnerID)
	if err != nil || p.OnLeaderboard == to {
		return err
	}
	err = queries.PartnerSetRanked(ctx, u.Later(), db.PartnerSetRankedParams{
		OnLeaderboard: to, UpdatedAt: u.Now, ID: p.ID, OrgID: p.OrgID,
	})
	if err != nil {
		return err
	}
	recordUpdated(u, p)
	return AuditSelf(ctx, u, p, "partner.updated", p.ID, ranked{p.OnLeaderboard}, ranked{to})
}

// lockSelf locks the partner of a session. The status is checked under the lock, since the partner may have been
// suspended after the form was shown.
func lockSelf(ctx context.Context, u *work.Unit, id string) (db.Partner, error) {
	p, err := Lock(ctx, u, id)
	if err == nil && p.Status != db.PartnerStatusActive {
		err = problem.New(problem.PartnerNotActive, "The partner is %s.", p.Status)
	}
	return p, err
}

// UpdateSelf is Update on behalf of the partner in the portal. It writes the audit log, and completes the
// onboarding once there are a name and a payout method (decisions, 54).
func (s *Service) UpdateSelf(ctx context.Context, u *work.Unit, partnerID string, b Patch) error {
	before, err := lockSelf(ctx, u, partnerID)
	if err != nil {
		return err
	}
	// The same rules as the API's, so that a form has the same limits as a request.
	if _, err := s.Update(ctx, u, partnerID, b); err != nil {
		return err
	}
	// The read sends Update's writes first, and so sees them.
	after, err := Lock(ctx, u, partnerID)
	if err != nil {
		return err
	}
	if HasName(after) && after.PayoutMethod != nil && !after.CompletedOnboarding {
		after.CompletedOnboarding = true
		if u.Events.Len() == 0 { // one change, one event
			recordUpdated(u, after)
		}
		done := db.PartnerSetOnboardedParams{UpdatedAt: u.Now, ID: after.ID, OrgID: after.OrgID}
		if err := queries.PartnerSetOnboarded(ctx, u.Later(), done); err != nil {
			return err
		}
	}
	// An unchanged form writes no audit entry.
	was, is := differences(before, after)
	if len(is) == 0 {
		return nil
	}
	return AuditSelf(ctx, u, before, "partner.updated", before.ID, was, is)
}

// HasName reports whether a partner has a name.
func HasName(p db.Partner) bool {
	return p.FirstName != nil || p.LastName != nil || p.DisplayName != nil || p.CompanyName != nil
}

// differences returns the changed fields of a partner, for the audit log. Payout details are sealed, so it tells
// only that they changed.
func differences(before, after db.Partner) (was, is map[string]any) {
	was, is = fields(before), fields(after)
	for name := range is {
		if reflect.DeepEqual(was[name], is[name]) {
			delete(was, name)
			delete(is, name)
		}
	}
	if !bytes.Equal(before.PayoutDetails, after.PayoutDetails) {
		is["payout_details"] = "changed"
	}
	return was, is
}

// fields returns the fields that an update can change, under the API's names. Email is not among them.
func fields(p db.Partner) map[string]any {
	return map[string]any{
		"group_id": p.GroupID, "first_name": p.FirstName, "last_name": p.LastName, "display_name": p.DisplayName,
		"company_name": p.CompanyName, "website_url": p.WebsiteURL, "country_code": p.CountryCode,
		"language_code": p.LanguageCode, "address": p.Address, "tax_id": p.TaxID, "handle": p.Handle,
		"status": p.Status, "suspension_reason": p.SuspensionReason, "min_payout_minor": p.MinPayoutMinor,
		"completed_onboarding": p.CompletedOnboarding, "metadata": json.RawMessage(p.Metadata),
		"payout_method": p.PayoutMethod, "external_id": p.ExternalID,
	}
}

// InPortal returns the reason by which the audit log names a partner who changes something in the portal.
func InPortal(p db.Partner) string { return "By the partner " + p.ID + " in the portal." }

// AuditSelf writes a partner's change to the audit log. There is no API key to name, so the reason names the
// partner.
func AuditSelf(
	ctx context.Context, u *work.Unit, p db.Partner, action, targetID string, before, after any,
) error {
	reason := InPortal(p)
	return auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: p.ProgramID, Action: action, TargetID: targetID, Reason: &reason, Before: before, After: after,
	})
}
