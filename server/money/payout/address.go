package payout

import (
	"strings"

	"rail/gen/db"
	"rail/server/secret"
)

// Email returns the email address to which a partner is paid, in lower case, or "" if the payout details have
// none.
func Email(keeper *secret.Keeper, p db.Partner) (string, error) {
	details, err := DetailsOf(keeper, p)
	if err != nil || details == nil {
		return "", err
	}
	members, err := decodeDetails(details)
	if err != nil {
		return "", err
	}
	if email := first(members, addressNamed); strings.Contains(email, "@") {
		return email, nil
	}
	return "", nil
}
