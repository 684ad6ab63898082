package portalsettings

import (
	"slices"
	"strings"

	"rail/server/opt"
)

// Approves reports whether an applicant for a group, from a country and with an email, is approved without a
// review: every list with values must include theirs.
func (s Settings) Approves(groupID, country *string, email string) bool {
	if s.AutoApprove == nil {
		return false
	}
	_, domain, _ := strings.Cut(email, "@")
	rule := s.AutoApprove
	return includes(rule.GroupIds, opt.Value(groupID)) && includes(rule.Countries, strings.ToUpper(opt.Value(country))) &&
		includes(rule.EmailDomains, strings.ToLower(domain))
}

// includes reports whether a list includes a value; an empty list includes all.
func includes(list []string, value string) bool {
	return len(list) == 0 || slices.Contains(list, value)
}
