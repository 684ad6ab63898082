package tracking

import (
	"cmp"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"rail/server/program/publishable"
)

// URL returns the destination with the tracking parameter applied: a parameter
// of that name is replaced, the rest of the query and the fragment stay as they
// are (decisions, 75).
func URL(destination, param, value string) string {
	// Cut by hand: url.Values would sort the parameters and escape them anew, and some
	// merchants' pages depend on either.
	base, fragment, hasFragment := strings.Cut(destination, "#")
	path, query, _ := strings.Cut(base, "?")
	kept := []string{}
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); pair != "" && (err != nil || plain != param) {
			kept = append(kept, pair)
		}
	}
	kept = append(kept, url.QueryEscape(param)+"="+url.QueryEscape(value))
	out := path + "?" + strings.Join(kept, "&")
	if hasFragment {
		out += "#" + fragment
	}
	return out
}

// MostURL is the most characters that an address from outside has, and storedURL the
// most that are stored of it (decisions, 223).
const (
	MostURL   = 16384
	storedURL = 2048
)

// fit returns an address cut to storedURL characters, before the first parameter that
// does not fit. If the path alone is longer, the path is cut.
func fit(address string) string {
	if utf8.RuneCountInString(address) <= storedURL {
		return address
	}
	end := 0 // of the characters that fit, in bytes
	for range storedURL {
		_, size := utf8.DecodeRuneInString(address[end:])
		end += size
	}
	// The character after them may be the mark that ends the last parameter.
	if i := strings.LastIndexAny(address[:end+1], "?&#"); i >= 0 {
		return address[:i]
	}
	return brokenEscape.ReplaceAllString(address[:end], "")
}

// brokenEscape matches an escape that has lost its end.
var brokenEscape = regexp.MustCompile(`%[0-9A-Fa-f]?$`)

// fitted is fit for an address that may be absent.
func fitted(address *string) *string {
	if address == nil {
		return nil
	}
	return new(fit(*address))
}

// addQuery returns an address with more behind its query.
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

// paramKey returns the name of a parameter, as in "name=value", in the form in which
// names are compared: unescaped, in lower case, without the rest of a pasted &amp;.
func paramKey(pair string) string {
	name, _, _ := strings.Cut(pair, "=")
	if plain, err := url.QueryUnescape(name); err == nil {
		name = plain
	}
	return strings.TrimPrefix(strings.ToLower(name), "amp;")
}

// ShortBase returns where short links live, without a slash at its end: short, or
// the folder of redirects below base where short is empty.
func ShortBase(base, short string) string {
	return cmp.Or(strings.TrimSuffix(short, "/"), strings.TrimSuffix(base, "/")+"/r")
}

// ShortURL returns the address of a short link below the base of all.
func ShortURL(base, slug string) string { return base + "/" + slug }

// destinationKey returns what a landing page is compared with: host and path in
// lower case, in the form that browsers send, without default port and slash at the end.
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
