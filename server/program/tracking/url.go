package tracking

import (
	"cmp"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"rail/gen/db"
	"rail/server/opt"
	"rail/server/program/publishable"
)

// URL returns the destination with the tracking parameter: it replaces a parameter of that name and keeps the
// rest of the query and the fragment (decisions, 75).
func URL(destination, param, value string) string {
	// Cut manually: url.Values would sort and escape the parameters anew, and some merchants' pages depend on either.
	base, fragment, hasFragment := strings.Cut(destination, "#")
	path, query, _ := strings.Cut(base, "?")
	pairs := []string{}
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); pair != "" && (err != nil || plain != param) {
			pairs = append(pairs, pair)
		}
	}
	pairs = append(pairs, url.QueryEscape(param)+"="+url.QueryEscape(value))
	out := path + "?" + strings.Join(pairs, "&")
	if hasFragment {
		out += "#" + fragment
	}
	return out
}

// PartnerURL returns the link that every partner has: the handle on the landing page of the partner's group, or on
// the program's website if landing is nil (decisions, 50).
func PartnerURL(p db.Program, landing *string, handle string) string {
	return Readable(URL(cmp.Or(opt.Value(landing), p.WebsiteURL), Param(p), handle))
}

// Readable returns a link with a slash between a host and a query, as people expect it. It leads to the same page.
func Readable(link string) string {
	u, err := url.Parse(link)
	if err != nil || u.Path != "" {
		return link
	}
	u.Path = "/"
	return u.String()
}

// MaxURL is the maximum length of an address from outside, and storedURL the maximum stored length, in
// characters (decisions, 223).
const (
	MaxURL    = 16384
	storedURL = 2048
)

// fit cuts an address to storedURL characters, before the first parameter that does not fit. If the path alone
// is longer, the path is cut.
func fit(address string) string {
	if utf8.RuneCountInString(address) <= storedURL {
		return address
	}
	end := 0 // length in bytes of the characters that fit
	for range storedURL {
		_, size := utf8.DecodeRuneInString(address[end:])
		end += size
	}
	// The next character may end the last parameter.
	if i := strings.LastIndexAny(address[:end+1], "?&#"); i >= 0 {
		return address[:i]
	}
	return brokenEscape.ReplaceAllString(address[:end], "")
}

// brokenEscape matches an incomplete escape.
var brokenEscape = regexp.MustCompile(`%[0-9A-Fa-f]?$`)

// fitOptional is fit for an address that may be nil.
func fitOptional(address *string) *string {
	if address == nil {
		return nil
	}
	return new(fit(*address))
}

// addQuery appends parameters to an address.
func addQuery(address string, more []string) string {
	if len(more) == 0 {
		return address
	}
	base, fragment, hasFragment := strings.Cut(address, "#")
	mark := "?"
	if strings.Contains(base, "?") {
		mark = "&"
	}
	if base += mark + strings.Join(more, "&"); hasFragment {
		base += "#" + fragment
	}
	return base
}

// paramKey returns the name of a parameter, as in "name=value", normalized for comparison: unescaped, in lower
// case, without the rest of a pasted &amp;.
func paramKey(pair string) string {
	name, _, _ := strings.Cut(pair, "=")
	if plain, err := url.QueryUnescape(name); err == nil {
		name = plain
	}
	return strings.TrimPrefix(strings.ToLower(name), "amp;")
}

// ShortBase returns the base address of short links, without a slash at its end: short, or the redirect folder
// below base if short is empty.
func ShortBase(base, short string) string {
	return cmp.Or(strings.TrimSuffix(short, "/"), strings.TrimSuffix(base, "/")+"/r")
}

// ShortURL returns the address of a short link below the base of all.
func ShortURL(base, slug string) string { return base + "/" + slug }

// destinationKey returns the form in which landing pages are compared: host and path in lower case, in the form
// that browsers send, without default port and slash at the end.
func destinationKey(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	host := publishable.ASCII(u.Host)
	switch u.Scheme {
	case "http":
		host = strings.TrimSuffix(host, ":80")
	case "https":
		host = strings.TrimSuffix(host, ":443")
	}
	path := (&url.URL{Path: strings.ToLower(u.Path)}).EscapedPath()
	return host + strings.TrimRight(strings.ToLower(path), "/")
}
