package payout

import (
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
	for value := range named(details, recipientNamed[service]) {
		text, _ := value.(string)
		if text = strings.TrimSpace(text); text != "" {
			return text
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
	for value := range named(members, emailNamed) {
		if text, _ := canonical(value).(string); strings.Contains(text, "@") {
			emails = append(emails, text)
		}
	}
	return emails, err
}
