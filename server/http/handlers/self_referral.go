package handlers

import (
	"context"
	"strings"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/event"
	"rail/server/problem"
	"rail/server/program/risk"
	"rail/server/work"
)

// selfReferral compares the customer's e-mail with the partner's. Where the
// program blocks self-referrals the call is refused, and, alone among
// refusals, leaves effects: the referral goes and a risk flag opens
// (decisions, 66 and 216). Otherwise the flag alone opens, for the customer.
func (a attribution) selfReferral(ctx context.Context, u *work.Unit, p db.Program, email *string) error {
	if !isPartner(email, a.partner) || !p.BlockSelfReferrals {
		return nil
	}
	if a.monitored {
		if err := flagSelfReferral(ctx, u, a.partner, nil); err != nil {
			return err
		}
	}
	if err := a.dropReferral(ctx, u); err != nil {
		return err
	}
	e := problem.On("email", problem.SelfReferralBlocked, "The customer's e-mail is the partner's own, and the program blocks self-referrals.")
	e.Committed = true
	return e
}

// dropReferral removes the visit, unless a customer came of it.
func (a attribution) dropReferral(ctx context.Context, u *work.Unit) error {
	if a.referral == nil || a.referral.Status != db.ReferralStatusVisit {
		return nil
	}
	detach := db.ReferralDetachClicksParams{ReferralID: &a.referral.ID, OrgID: u.OrgID}
	if err := queries.ReferralDetachClicks(ctx, u.Later(), detach); err != nil {
		return err
	}
	u.Record(event.Subject{ProgramID: a.partner.ProgramID, PartnerID: a.partner.ID, ID: a.referral.ID},
		events.ReferralDeleted(api.ReferralDeletedData{ReferralID: a.referral.ID, PartnerID: a.partner.ID, Reason: "self_referral"}))
	return queries.ReferralDelete(ctx, u.Later(), db.ReferralDeleteParams{ID: a.referral.ID, OrgID: u.OrgID})
}

func isPartner(email *string, p db.Partner) bool {
	return email != nil && normalEmail(*email) == normalEmail(p.Email)
}

// flagSelfReferral opens the flag, unless the same one is open. There is no
// customer where it was refused.
func flagSelfReferral(ctx context.Context, u *work.Unit, partner db.Partner, customerID *string) error {
	return flag(ctx, u, risk.Finding{
		ProgramID: partner.ProgramID, PartnerID: partner.ID, CustomerID: customerID, Kind: "self_referral", Severity: "high",
		Summary: "A customer has the partner's own e-mail address.",
	})
}

// normalEmail is the form in which two addresses are one person's: lower case,
// without +tag, and without dots where the provider ignores them.
func normalEmail(email string) string {
	email = strings.ToLower(email)
	at := strings.LastIndexByte(email, '@')
	if at < 0 {
		return email
	}
	local, domain := email[:at], email[at+1:]
	local, _, _ = strings.Cut(local, "+")
	if domain == "gmail.com" || domain == "googlemail.com" {
		local, domain = strings.ReplaceAll(local, ".", ""), "gmail.com"
	}
	return local + "@" + domain
}
