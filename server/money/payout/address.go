package payout

import (
	"maps"
	"slices"
	"strings"

	"rail/gen/db"
	"rail/server/secret"
)

// recipientNamed are the members of payout details with the account at a service, by their names without separators.
// The first that is set counts.
var recipientNamed = map[string][]string{
	"paypal": {"email", "paypalemail", "payerid"},
	"wise":   {"email", "wiseemail"},
}

// Recipient returns the account that a service, a key of FileLimits, pays: the one in the payout details, else the
// partner's email. It is an email address or, for PayPal, a payer id.
func Recipient(service string, details map[string]any, email string) string {
	for _, name := range recipientNamed[service] {
		for _, member := range slices.Sorted(maps.Keys(details)) {
			text, _ := details[member].(string)
			if text = strings.TrimSpace(text); bareName(member) == name && text != "" {
				return text
			}
		}
	}
	return strings.TrimSpace(email)
}

// Emails returns the email addresses in a partner's payout details, in lower case.
func Emails(keeper *secret.Keeper, p db.Partner) (emails []string, err error) {
	details, err := DetailsOf(keeper, p)
	if err != nil || details == nil {
		return nil, err
	}
	members, err := decodeDetails(details)
	for _, member := range slices.Sorted(maps.Keys(members)) {
		text, _ := canonical(members[member]).(string)
		if strings.Contains(text, "@") && slices.Contains(emailNamed, bareName(member)) {
			emails = append(emails, text)
		}
	}
	return emails, err
}
