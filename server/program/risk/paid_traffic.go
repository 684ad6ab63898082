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
	settled, err := queries.RiskDismissedSince(ctx, u.DB(), db.RiskDismissedSinceParams{
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
func paidBy(landingURL, params string) string {
	_, query, _ := strings.Cut(landingURL, "?")
	query, _, _ = strings.Cut(query, "#")
	if query += "&" + params; !strings.Contains(query, "cl") && !strings.Contains(query, "li_fat_id") {
		return "" // a fast path for most clicks
	}
	values, _ := url.ParseQuery(query) // unreadable parameters do not count
	for _, name := range clickIDs {
		if values.Has(name) {
			return name
		}
	}
	return ""
}

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
