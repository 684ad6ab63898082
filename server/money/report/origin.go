package report

import (
	"net/url"
	"strings"
	"unicode"

	"rail/server/locale/plain"
)

// None is the key of figures without a value of an origin, and the value of a filter for them. Other is the key of
// the values above the limit of a day (decisions, 455).
const (
	None  = "none"
	Other = "other"
)

// maxValue and maxHost bound the values of an origin, in characters.
const (
	maxValue = 100
	maxHost  = 253
)

// Value returns a campaign parameter as reports count it: in lower case, without invisible characters and repeated
// spaces, cut to maxValue characters; "" for none.
func Value(text string) string {
	text = tidy(plain.Cut(tidy(strings.ToLower(text)), maxValue))
	if text == None {
		return ""
	}
	return text
}

// tidy removes invisible characters and repeated spaces.
func tidy(text string) string {
	text = plain.Name(text)
	if !strings.ContainsFunc(text, unicode.IsSpace) { // as most
		return text
	}
	return strings.Join(strings.Fields(text), " ")
}

// Host returns the host of a referring page in lower case, without port; "" for none, and for an address that is not
// readable.
func Host(address string) string {
	if !strings.Contains(address, "://") {
		address = "//" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if len(host) > maxHost || host == None || strings.ContainsFunc(host, unfitForHost) {
		return ""
	}
	return host
}

// unfitForHost reports whether no host has the character.
func unfitForHost(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(".-_:", r)
}
