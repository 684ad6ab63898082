package payout

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"rail/server/secret"
)

// DetailsHash recognizes that two partners of a program are paid to the same place:
// a keyed hash of what names the place in the payout details, however it is
// spelled. Whose account it is, and what the bank is called, name nothing. Empty
// where the details name no place.
func DetailsHash(keeper *secret.Keeper, programID string, method *string, details []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(details))
	// An account number is longer than a float64 is exact.
	d.UseNumber()
	var members map[string]any
	if err := d.Decode(&members); err != nil {
		return nil, err
	}
	named := place(members)
	if named == nil {
		// Details in a form that is not known are compared as a whole, and only with those
		// of the same method.
		rest, _ := plain(members).([][2]string) // of an object that is what it is
		if len(rest) == 0 {
			return []byte{}, nil
		}
		name := ""
		if method != nil {
			name = *method
		}
		named = []any{name, rest}
	}
	text, err := json.Marshal(named)
	if err != nil {
		return nil, err
	}
	return keeper.HashDetails(programID, string(text)), nil
}

// The members that name a place, by what they are called without separators. A
// number that is no IBAN means something at one bank only.
var (
	accountNamed = []string{"iban", "accountnumber", "account"}
	bankNamed    = []string{"routingnumber", "sortcode", "bankcode", "bsb", "bic", "swift", "swiftcode", "swiftbic"}
	addressNamed = []string{"email", "paypalemail", "address", "walletaddress", "wallet"}
	ibanForm     = regexp.MustCompile(`^[a-z]{2}[0-9]{2}[a-z0-9]{10,30}$`)
)

// place is the account or the address that details name; nil where none is
// known to be one.
func place(members map[string]any) []any {
	if account := first(members, accountNamed); account != "" {
		if account = bare(account); ibanForm.MatchString(account) {
			return []any{"account", account}
		}
		return []any{"account", account, bare(first(members, bankNamed))}
	}
	if address := first(members, addressNamed); address != "" {
		return []any{"address", address}
	}
	return nil
}

// first is the first member of those names that is not empty.
func first(members map[string]any, names []string) string {
	for _, name := range names {
		// Members are compared by their bare names: "Account number" is account_number.
		for given, value := range members {
			if bare(given) != name {
				continue
			}
			if text, ok := plain(value).(string); ok && text != "" {
				return text
			}
		}
	}
	return ""
}

// plain is the form in which details are compared. An object becomes the list of
// its members in the order of their names; what is empty is left out.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		members := [][2]string{}
		for name, value := range v {
			raw, err := json.Marshal(plain(value))
			if err == nil && string(raw) != `""` && string(raw) != "null" {
				members = append(members, [2]string{squeezed(name), string(raw)})
			}
		}
		slices.SortFunc(members, func(a, b [2]string) int { return strings.Compare(a[0]+"\x00"+a[1], b[0]+"\x00"+b[1]) })
		return members
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			out[i] = plain(one)
		}
		return out
	case string:
		return squeezed(v)
	case json.Number:
		return v.String() // an account given as a number is the one given as text
	}
	return v
}

// squeezed is a text without case and spaces.
func squeezed(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), "")) }

// bare is a text without case and without whatever separates its parts.
func bare(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(s))
}
