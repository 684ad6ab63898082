package partner

import (
	"encoding/json"

	"rail/gen/db"
	"rail/server/money/payout"
	"rail/server/opt"
	"rail/server/problem"
)

// namesPayout is the refusal of a text with the id of a payout in it.
const namesPayout = "The id of a payout (pyt_…) is not allowed here."

// checkNames refuses the id of a payout in names and addresses, which payout files contain: a reader of
// the file could take it for the reference (decisions, 327).
func checkNames(p db.Partner) error {
	for _, f := range []struct{ param, text string }{
		{"first_name", opt.Value(p.FirstName)}, {"last_name", opt.Value(p.LastName)},
		{"display_name", opt.Value(p.DisplayName)}, {"company_name", opt.Value(p.CompanyName)},
		{"handle", p.Handle}, {"email", p.Email},
	} {
		if payout.NamesPayout(f.text) {
			return problem.Invalid(f.param, namesPayout)
		}
	}
	return nil
}

// checkDetails refuses the id of a payout in payout details, also where it is escaped.
func checkDetails(details json.RawMessage) error {
	if len(details) == 0 {
		return nil
	}
	var plain any
	if err := json.Unmarshal(details, &plain); err != nil {
		return err
	}
	text, err := json.Marshal(plain)
	if err == nil && payout.NamesPayout(string(text)) {
		err = problem.Invalid("payout_details", namesPayout)
	}
	return err
}

// CheckApplicant refuses the names of an applicant that Apply would refuse.
func CheckApplicant(email string, firstName, lastName *string) error {
	return checkNames(db.Partner{Email: email, FirstName: firstName, LastName: lastName})
}
