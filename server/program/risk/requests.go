package risk

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"rail/gen/db"
	"rail/server/work"
)

// clickIDs are the parameters that advertising networks add to paid clicks (decisions, 147).
var clickIDs = []string{"gclid", "fbclid", "msclkid", "ttclid", "twclid", "li_fat_id"}

// dismissedFor is how many days paid clicks open no new flag after a dismissal: every single click would.
const dismissedFor = 30

// CheckClick checks a click of a partner's visitor for paid traffic: the address of the landing page, and the
// query of the short link, if any.
func CheckClick(ctx context.Context, u *work.Unit, programID, partnerID, landingURL, query string) error {
	name := suspect(u, landingURL, query)
	if name == "" {
		return nil
	}
	settled, err := queries.RiskDismissed(ctx, u.DB(), db.RiskDismissedParams{
		ProgramID: programID, OrgID: u.OrgID, PartnerID: &partnerID, Kind: "paid_traffic",
		Since: new(u.Now.Days(-dismissedFor)),
	})
	if err != nil || settled {
		return err
	}
	return flag(ctx, u, Finding{
		ProgramID: programID, PartnerID: partnerID, Kind: "paid_traffic", Severity: "low",
		Summary: "A visitor came through a paid advertisement.", Signals: map[string]any{"parameter": name},
	})
}

// Suspect reports whether CheckClick needs a closer look at a click.
func Suspect(u *work.Unit, landingURL, query string) bool { return suspect(u, landingURL, query) != "" }

// suspect returns the parameter that makes a click suspicious, or "".
func suspect(u *work.Unit, landingURL, query string) string {
	if !u.Plan.FraudMonitoring {
		return ""
	}
	return paidBy(landingURL, query)
}

// flag opens the flag of a finding, unless the same one is open (decisions, 148). A request does not need the
// difference.
func flag(ctx context.Context, u *work.Unit, f Finding) error {
	_, err := Open(ctx, u, f)
	return err
}

// paidBy returns the parameter with which an advertising network marked the click, or "".
func paidBy(landingURL, asked string) string {
	_, query, _ := strings.Cut(landingURL, "?")
	query, _, _ = strings.Cut(query, "#")
	if query += "&" + asked; !strings.Contains(query, "cl") && !strings.Contains(query, "li_fat_id") {
		return "" // a fast path for most clicks
	}
	given, _ := url.ParseQuery(query) // unreadable parameters do not count
	for _, name := range clickIDs {
		if given.Has(name) {
			return name
		}
	}
	return ""
}

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
			Summary:    "The customer's e-mail address is of a provider of throw-away addresses.",
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
		Summary:    "The customer's e-mail address is of the partner's own domain.",
		Signals:    map[string]any{"domain": domain},
	})
}

// FlagSelfReferral opens the flag of a partner whose customer has the partner's email. customerID is nil if the
// customer was refused.
func FlagSelfReferral(ctx context.Context, u *work.Unit, partner db.Partner, customerID *string) error {
	return flag(ctx, u, Finding{
		ProgramID: partner.ProgramID, PartnerID: partner.ID, CustomerID: customerID, Kind: "self_referral",
		Severity: "high", Summary: "A customer has the partner's own e-mail address.",
	})
}

// CheckOwnCustomers marks and flags at most 20 customers of a partner whose email reaches the same mailbox as a
// new address of the partner.
func CheckOwnCustomers(ctx context.Context, u *work.Unit, p db.Partner, address string) error {
	if address == "" {
		return nil
	}
	ids, err := queries.RiskOwnCustomers(ctx, u.DB(), db.RiskOwnCustomersParams{
		ProgramID: p.ProgramID, OrgID: p.OrgID, PartnerID: &p.ID, Mailbox: normalEmail(address),
	})
	if err != nil || len(ids) == 0 {
		return err
	}
	if err := queries.CustomersMarkOwn(ctx, u.DB(), db.CustomersMarkOwnParams{OrgID: p.OrgID, Ids: ids}); err != nil {
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

// normalEmail normalizes an address, equal for one mailbox: lower case, without +tag, and without dots if the
// provider ignores them.
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

// forAll reports whether a domain is a public provider's, so that sharing it proves nothing. Some providers have
// a domain for each country.
func forAll(domain string) bool {
	provider, _, _ := strings.Cut(domain, ".")
	return slices.Contains(free, domain) || slices.Contains(families, provider) && strings.Count(domain, ".") <= 2
}

// domainOf returns the part after the last @, in lower case.
func domainOf(email string) string {
	return strings.ToLower(email[strings.LastIndexByte(email, '@')+1:])
}
