package payout

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"rail/server/secret"
)

// DetailsHash tells whether two partners of a program are paid to the same place:
// a keyed hash of the method and the details, where neither the order nor the
// case nor the spaces of what somebody typed count.
func DetailsHash(keeper *secret.Keeper, programID string, method *string, details []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(details))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	name := ""
	if method != nil {
		name = *method
	}
	text, err := json.Marshal([]any{name, plain(v)})
	if err != nil {
		return nil, err
	}
	return keeper.HashDetails(programID, string(text)), nil
}

// plain is the form in which details are compared. An object becomes the list of
// its members in the order of their names; what is empty is left out.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		var members [][2]string
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

func squeezed(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), "")) }
