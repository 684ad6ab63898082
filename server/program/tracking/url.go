package tracking

import (
	"cmp"
	"net/url"
	"strings"
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

// ShortBase returns where short links live, without a slash at its end: short, or
// the folder of redirects below base where short is empty.
func ShortBase(base, short string) string {
	return cmp.Or(strings.TrimSuffix(short, "/"), strings.TrimSuffix(base, "/")+"/r")
}

// ShortURL returns the address of a short link below the base of all.
func ShortURL(base, slug string) string { return base + "/" + slug }

// destinationKey returns what a landing page is compared with: host and path in
// lower case, escaped in one way, without default port and slash at the end.
// It is plain ASCII but for the host, so that any address can be stored.
func destinationKey(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	host := strings.ToLower(u.Host)
	switch u.Scheme {
	case "http":
		host = strings.TrimSuffix(host, ":80")
	case "https":
		host = strings.TrimSuffix(host, ":443")
	}
	path := (&url.URL{Path: strings.ToLower(u.Path)}).EscapedPath()
	return host + strings.TrimRight(strings.ToLower(path), "/")
}
