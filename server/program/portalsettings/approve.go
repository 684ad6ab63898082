package portalsettings

import (
	"slices"
	"strings"

	"rail/server/opt"
)

// Approves reports whether an applicant for a group, from a country and with an e-mail, is approved without a
// review: every list with values must include theirs.
func (s Settings) Approves(groupID, country *string, email string) bool {
	if s.AutoApprove == nil {
		return false
	}
	_, domain, _ := strings.Cut(email, "@")
	rule := s.AutoApprove
	return holds(rule.GroupIds, opt.Value(groupID)) && holds(rule.Countries, strings.ToUpper(opt.Value(country))) &&
		holds(rule.EmailDomains, strings.ToLower(domain))
}

// holds reports whether a list includes a value; an empty list includes all.
func holds(list []string, value string) bool { return len(list) == 0 || slices.Contains(list, value) }
