package doctor

import (
	"fmt"
	"net/url"
	"strings"
)

// policy is a Content-Security-Policy: lists of sources by directive.
type policy map[string][]string

// policiesOf parses a header. It may contain several policies, and browsers apply all of them.
func policiesOf(header string) []policy {
	var out []policy
	for text := range strings.SplitSeq(header, ",") {
		p := policy{}
		for directive := range strings.SplitSeq(text, ";") {
			words := strings.Fields(directive)
			if len(words) == 0 {
				continue
			}
			name := strings.ToLower(words[0])
			if _, twice := p[name]; !twice { // browsers use the first one
				p[name] = words[1:]
			}
		}
		if len(p) > 0 {
			out = append(out, p)
		}
	}
	return out
}

// sources returns the name and the sources of the first of the directives that the policy
// contains. The name is "" if the policy contains none of them, and so allows everything.
func (p policy) sources(directives ...string) (name string, sources []string) {
	for _, d := range directives {
		if list, ok := p[d]; ok {
			return d, list
		}
	}
	return "", nil
}

// policies checks that the page's policies allow the script and its requests.
func (x *examination) policies() {
	before := len(x.findings)
	source, err := x.page.url.Parse(x.tag["src"])
	if err != nil { // the check of the script reports it
		return
	}
	for _, p := range x.page.policies {
		name, list := p.sources("script-src-elem", "script-src", "default-src")
		if name != "" && !x.allows(list, source) {
			x.note("policy", Wrong, fmt.Sprintf("%s blocks the script: %s", name, strings.Join(list, " ")),
				fmt.Sprintf("Add %s to %s of the page's Content-Security-Policy.", x.sourceFor(source), atLeast(name, "script-src")))
		}
		name, list = p.sources("connect-src", "default-src")
		if name != "" && !matchesAny(list, x.base, x.page.url) {
			x.note("policy", Wrong, fmt.Sprintf("%s blocks the script's requests to %s: %s", name, x.base, strings.Join(list, " ")),
				fmt.Sprintf("Add %s to %s of the page's Content-Security-Policy.", x.sourceFor(x.base), atLeast(name, "connect-src")))
		}
	}
	if len(x.findings) == before {
		x.note("policy", OK, fmt.Sprintf("The page's policies (%d) allow the script and its requests.", len(x.page.policies)), "")
	}
}

// atLeast returns own if the policy has only default-src, and otherwise has.
func atLeast(has, own string) string {
	if has == "default-src" {
		return own
	}
	return has
}

// sourceFor returns the source expression that allows an address.
func (x *examination) sourceFor(u *url.URL) string {
	if origin(u) == origin(x.page.url) {
		return "'self'"
	}
	return origin(u)
}

// allows reports whether a list of sources allows the tag's script by its nonce, its integrity
// or its address. With 'strict-dynamic' browsers ignore the address.
func (x *examination) allows(list []string, source *url.URL) bool {
	strict := false
	for _, s := range list {
		switch {
		case x.tag["nonce"] != "" && s == "'nonce-"+x.tag["nonce"]+"'":
			return true
		case x.tag["integrity"] != "" && s == "'"+x.tag["integrity"]+"'":
			return true
		case strings.EqualFold(s, "'strict-dynamic'"):
			strict = true
		}
	}
	return !strict && matchesAny(list, source, x.page.url)
}

// matchesAny reports whether an address matches one of the sources. self is the page's address.
func matchesAny(list []string, u, self *url.URL) bool {
	for _, s := range list {
		if matches(strings.ToLower(s), u, self) {
			return true
		}
	}
	return false
}

// matches reports whether an address matches a source in lower case. A source is *, 'self', a
// scheme, or a host with an optional scheme, port and path. A source with http also allows https.
func matches(source string, u, self *url.URL) bool {
	switch {
	case source == "*":
		return u.Scheme == "http" || u.Scheme == "https"
	case source == "'self'":
		return strings.EqualFold(u.Host, self.Host) && (u.Scheme == self.Scheme || u.Scheme == "https")
	case strings.HasSuffix(source, ":"):
		return u.Scheme+":" == source || source == "http:" && u.Scheme == "https"
	}
	scheme, rest, found := strings.Cut(source, "://")
	if !found {
		scheme, rest = self.Scheme, source
	}
	host, path, _ := strings.Cut(rest, "/")
	return (u.Scheme == scheme || u.Scheme == "https" && scheme == "http") && isAt(host, u) && isBelow("/"+path, u.Path)
}

// isAt reports whether an address matches the host of a source. The host may have a wildcard
// and a port.
func isAt(host string, u *url.URL) bool {
	name, port, named := strings.Cut(host, ":")
	if named && port != "*" && port != portOf(u) || !named && u.Port() != "" {
		return false
	}
	own := strings.ToLower(u.Hostname())
	below, wild := strings.CutPrefix(name, "*")
	return wild && strings.HasSuffix(own, below) || own == name
}

// isBelow reports whether a path matches the path of a source. A source that ends in a slash
// matches every path below it.
func isBelow(source, path string) bool {
	return source == "/" || source == path || strings.HasSuffix(source, "/") && strings.HasPrefix(path, source)
}

// portOf returns the port of an address, or the default port of its scheme.
func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}
