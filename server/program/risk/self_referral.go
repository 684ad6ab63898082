package risk

import (
	"context"
	"slices"

	"rail/gen/db"
	"rail/server/work"
)

// CheckCustomer checks a customer's email, when the customer is new or its email or partner changed: whether
// it is one of the partner's, of a throw-away provider, or of the partner's domain. It checks nothing for "".
func CheckCustomer(ctx context.Context, u *work.Unit, p db.Partner, own []string, k db.Customer, email string) error {
	if !u.Plan.FraudMonitoring || email == "" {
		return nil
	}
	self := IsOwn(own, email)
	if self {
		if err := FlagSelfReferral(ctx, u, p, &k.ID); err != nil {
			return err
		}
	}
	domain := domainOf(email)
	if slices.Contains(disposable, domain) {
		f := Finding{
			ProgramID:  p.ProgramID,
			PartnerID:  p.ID,
			CustomerID: &k.ID,
			Kind:       "disposable_email",
			Severity:   "medium",
			Summary:    "The customer's email address is of a provider of throw-away addresses.",
			Signals:    map[string]any{"domain": domain},
		}
		if err := flag(ctx, u, f); err != nil {
			return err
		}
	}
	if domain == "" || domain != domainOf(p.Email) || forAll(domain) || self {
		return nil
	}
	return flag(ctx, u, Finding{
		ProgramID:  p.ProgramID,
		PartnerID:  p.ID,
		CustomerID: &k.ID,
		Kind:       "self_referral_domain",
		Severity:   "medium",
		Summary:    "The customer's email address is of the partner's own domain.",
		Signals:    map[string]any{"domain": domain},
	})
}

// FlagSelfReferral opens the flag of a partner whose customer has the partner's email. customerID is nil if the
// customer was refused.
func FlagSelfReferral(ctx context.Context, u *work.Unit, partner db.Partner, customerID *string) error {
	return flag(ctx, u, Finding{
		ProgramID: partner.ProgramID, PartnerID: partner.ID, CustomerID: customerID, Kind: "self_referral",
		Severity: "high", Summary: "A customer has the partner's own email address.",
	})
}

// CheckOwnCustomers marks and flags at most 20 customers of a partner whose email reaches the same mailbox as a
// new address of the partner.
func CheckOwnCustomers(ctx context.Context, u *work.Unit, p db.Partner, address string) error {
	ids, err := queries.RiskOwnCustomers(ctx, u.DB(), db.RiskOwnCustomersParams{
		ProgramID: p.ProgramID, OrgID: p.OrgID, PartnerID: &p.ID, Mailbox: normalEmail(address),
	})
	if err != nil || len(ids) == 0 {
		return err
	}
	if err := queries.CustomersMarkSelfReferral(ctx, u.DB(), db.CustomersMarkSelfReferralParams{
		OrgID: p.OrgID, Ids: ids,
	}); err != nil {
		return err
	}
	for _, id := range ids {
		if !u.Plan.FraudMonitoring {
			break
		}
		if err := FlagSelfReferral(ctx, u, p, &id); err != nil {
			return err
		}
	}
	return nil
}

// IsOwn reports whether an email reaches the mailbox of one of a partner's addresses.
func IsOwn(own []string, email string) bool {
	return slices.ContainsFunc(own, func(address string) bool { return SamePerson(address, email) })
}

// SamePerson reports whether two email addresses reach one mailbox.
func SamePerson(a, b string) bool { return normalEmail(a) == normalEmail(b) }
