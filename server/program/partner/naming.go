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

// namesPayout is the refusal of a text that contains a payout's id.
const namesPayout = "The id of a payout (pyt_…) is not allowed here."

// checkNames refuses payout ids in names and addresses, which payout files contain: a reader of the file could
// mistake one for the reference (decisions, 327).
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

// checkDetails refuses payout ids in payout details, also escaped ones, and invisible characters, which make
// different accounts look alike.
func checkDetails(details json.RawMessage) error {
	if metadata.Absent(details) {
		return nil
	}
	var value any
	if err := json.Unmarshal(details, &value); err != nil {
		return err
	}
	if !visible(value) {
		return problem.Invalid("payout_details", "payout_details has an invisible character.")
	}
	text, err := json.Marshal(value)
	if err == nil && payout.NamesPayout(string(text)) {
		err = problem.Invalid("payout_details", namesPayout)
	}
	return err
}

// visible reports whether all characters of a value's texts are visible or line breaks.
func visible(value any) bool {
	switch v := value.(type) {
	case string:
		return plain.Lined(v)
	case []any:
		return !slices.ContainsFunc(v, func(one any) bool { return !visible(one) })
	case map[string]any:
		for name, one := range v {
			if !visible(name) || !visible(one) {
				return false
			}
		}
	}
	return true
}

// CheckApplicant refuses an applicant's names as Apply does.
func CheckApplicant(email string, firstName, lastName *string) error {
	plain.Names(&firstName, &lastName)
	return checkNames(db.Partner{Email: email, FirstName: firstName, LastName: lastName})
}
