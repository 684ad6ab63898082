package payout

import (
	"bytes"
	"encoding/json"
	"iter"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"rail/server/secret"
)

// DetailsHash lets the server recognize two partners of a program with the same payout destination: a keyed hash
// of the account or address in the payout details, whatever their spelling. Names of account holders and banks
// do not count. It is empty if the details have no destination.
func DetailsHash(keeper *secret.Keeper, programID string, method *string, details []byte) ([]byte, error) {
	members, err := decodeDetails(details)
	if err != nil {
		return nil, err
	}
	named := place(members)
	if named == nil {
		// Details of an unknown form are compared as a whole, and only within the same method.
		rest, _ := canonical(members).([][2]string) // canonical returns a list for an object
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

// decodeDetails parses payout details. Numbers are json.Number, because account numbers exceed the exact range of
// float64.
func decodeDetails(raw []byte) (members map[string]any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return members, d.Decode(&members)
}

// Members that hold an account or address, by their names without separators. A number that is not an IBAN
// identifies an account at one bank only.
var (
	accountNamed = []string{"iban", "accountnumber", "account"}
	bankNamed    = []string{"routingnumber", "sortcode", "bankcode", "bsb", "bic", "swift", "swiftcode", "swiftbic"}
	addressNamed = []string{"email", "paypalemail", "address", "walletaddress", "wallet"}
	emailNamed   = append(slices.Clone(addressNamed), "wiseemail")
	ibanForm     = regexp.MustCompile(`^[a-z]{2}[0-9]{2}[a-z0-9]{10,30}$`)
)

// place returns the account or address in the details, nil if none is known.
func place(members map[string]any) []any {
	if account := first(members, accountNamed); account != "" {
		if account = bareName(account); ibanForm.MatchString(account) {
			return []any{"account", account}
		}
		return []any{"account", account, bareName(first(members, bankNamed))}
	}
	if address := first(members, addressNamed); address != "" {
		return []any{"address", address}
	}
	return nil
}

// SamePlaces reports whether two versions of payout details name the same places. DetailsHash compares only the
// first place, and a payout file may use another one, such as the email beside an IBAN.
func SamePlaces(one, other []byte) (bool, error) {
	a, err := placesOf(one)
	if err != nil {
		return false, err
	}
	b, err := placesOf(other)
	return reflect.DeepEqual(a, b), err
}

// placesOf returns the members of payout details that name a place.
func placesOf(raw []byte) (any, error) {
	if raw == nil {
		return canonical(map[string]any{}), nil
	}
	members, err := decodeDetails(raw)
	names := slices.Concat(accountNamed, bankNamed, emailNamed, []string{"payerid"})
	maps.DeleteFunc(members, func(name string, _ any) bool { return !slices.Contains(names, bareName(name)) })
	return canonical(members), err
}

// first returns the first of the named members that is not empty.
func first(members map[string]any, names []string) string {
	for value := range named(members, names) {
		if text, ok := canonical(value).(string); ok && text != "" {
			return text
		}
	}
	return ""
}

// named yields the values of the named members, in the order of names.
func named(members map[string]any, names []string) iter.Seq[any] {
	return func(yield func(any) bool) {
		for _, name := range names {
			// Members are compared by normalized names: "Account number" is account_number.
			for _, member := range slices.Sorted(maps.Keys(members)) { // both spellings of email may be present
				if bareName(member) == name && !yield(members[member]) {
					return
				}
			}
		}
	}
}

// canonical returns the canonical form in which details are compared. An object becomes a list of its members sorted
// by name; empty members are dropped.
func canonical(v any) any {
	switch v := v.(type) {
	case map[string]any:
		members := [][2]string{}
		for name, value := range v {
			raw, err := json.Marshal(canonical(value))
			if err == nil && string(raw) != `""` && string(raw) != "null" {
				members = append(members, [2]string{foldText(name), string(raw)})
			}
		}
		slices.SortFunc(members, func(a, b [2]string) int { return strings.Compare(a[0]+"\x00"+a[1], b[0]+"\x00"+b[1]) })
		return members
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			out[i] = canonical(one)
		}
		return out
	case string:
		return foldText(v)
	case json.Number:
		return v.String() // a number and its text are the same account
	}
	return v
}

// foldText returns a text in lower case without spaces.
func foldText(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), "")) }

// bareName returns a text in lower case without separators.
func bareName(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(s))
}
