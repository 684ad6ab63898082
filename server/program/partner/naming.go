package partner

import (
	"encoding/json"
	"slices"

	"rail/gen/db"
	"rail/server/locale/plain"
	"rail/server/money/payout"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/work/metadata"
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

// checkDetails refuses the id of a payout in payout details, also where it is escaped, and
// invisible characters, with which accounts that look alike differ.
func checkDetails(details json.RawMessage) error {
	if metadata.Absent(details) {
		return nil
	}
	var given any
	if err := json.Unmarshal(details, &given); err != nil {
		return err
	}
	if !seen(given) {
		return problem.Invalid("payout_details", "payout_details has an invisible character.")
	}
	text, err := json.Marshal(given)
	if err == nil && payout.NamesPayout(string(text)) {
		err = problem.Invalid("payout_details", namesPayout)
	}
	return err
}

// seen reports whether all characters of the texts of a value can be seen; lines may end.
func seen(value any) bool {
	switch v := value.(type) {
	case string:
		return plain.Lined(v)
	case []any:
		return !slices.ContainsFunc(v, func(one any) bool { return !seen(one) })
	case map[string]any:
		for name, one := range v {
			if !seen(name) || !seen(one) {
				return false
			}
		}
	}
	return true
}

// CheckApplicant refuses the names of an applicant that Apply would refuse.
func CheckApplicant(email string, firstName, lastName *string) error {
	return checkNames(db.Partner{Email: email, FirstName: firstName, LastName: lastName})
}
