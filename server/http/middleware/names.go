package middleware

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"rail/server/locale/plain"
)

// nameMembers lists the members of bodies that hold a name in one line. It does not apply inside
// freeform members.
var nameMembers = map[string]bool{
	"name": true, "first_name": true, "last_name": true, "company_name": true, "display_name": true, "product_name": true,
	"label": true, "title": true, "subject": true,
}

// fileMember is a file, whose name has other rules.
const fileMember = "file"

// cleanNames returns a valid body without invisible characters in its names. Most bodies have none,
// and are returned unchanged.
func cleanNames(body []byte) ([]byte, error) {
	text := string(body)
	if plain.Lined(text) && !strings.Contains(text, `\`) {
		return body, nil
	}
	var out bytes.Buffer
	d, e := jsontext.NewDecoder(bytes.NewBuffer(body)), jsontext.NewEncoder(&out)
	var within []string // the open members, by depth
	for {
		token, err := d.ReadToken()
		if err == io.EOF { //nolint:errorlint // as it is documented
			return bytes.TrimRight(out.Bytes(), "\n"), nil
		}
		if err != nil {
			return nil, err
		}
		if token.Kind() == '"' {
			within, token = cleanName(d, within, token)
		}
		if err := e.WriteToken(token); err != nil {
			return nil, err
		}
	}
}

// cleanName returns the token to write, and the open members after it.
func cleanName(d *jsontext.Decoder, within []string, token jsontext.Token) ([]string, jsontext.Token) {
	depth := d.StackDepth()
	kind, n := d.StackIndex(depth)
	if kind != '{' {
		return within, token
	}
	text := token.String()
	for len(within) < depth {
		within = append(within, "")
	}
	within = within[:depth]
	if n%2 == 1 { // the name of a member
		within[depth-1] = text
		return within, token
	}
	if slices.ContainsFunc(within, func(member string) bool { return freeform[member] || member == fileMember }) {
		return within, token
	}
	if nameMembers[within[depth-1]] && !plain.Named(text) {
		token = jsontext.String(plain.Name(text))
	}
	return within, token
}
