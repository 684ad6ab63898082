package doctor

import (
	"fmt"
	"net/url"
	"strings"
)

// policy is a Content-Security-Policy: sources by directive.
type policy map[string][]string

// policiesOf reads a header, which may have several policies; all of them hold.
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
			if _, twice := p[name]; !twice { // the first one counts
				p[name] = words[1:]
			}
		}
		if len(p) > 0 {
			out = append(out, p)
		}
	}
	return out
}

// sources returns the sources of the first of some directives that the policy has, and its name;
// "" where it has none and so forbids nothing.
func (p policy) sources(directives ...string) (name string, sources []string) {
	for _, d := range directives {
		if list, ok := p[d]; ok {
			return d, list
		}
	}
	return "", nil
}

// policies holds the policies against what the script needs.
func (x *examination) policies() {
	before := len(x.findings)
	source, err := x.page.url.Parse(x.tag["src"])
	if err != nil { // script has said so
		return
	}
	for _, p := range x.page.policies {
		name, list := p.sources("script-src-elem", "script-src", "default-src")
		if name != "" && !x.allows(list, source) {
			x.note("policy", Wrong, fmt.Sprintf("%s keeps the script out: %s", name, strings.Join(list, " ")),
				fmt.Sprintf("Add %s to %s of the page's Content-Security-Policy.", x.wanted(source), atLeast(name, "script-src")))
		}
		name, list = p.sources("connect-src", "default-src")
		if name != "" && !matchesAny(list, x.base, x.page.url) {
			x.note("policy", Wrong, fmt.Sprintf("%s keeps the script from reporting to %s: %s", name, x.base, strings.Join(list, " ")),
				fmt.Sprintf("Add %s to %s of the page's Content-Security-Policy.", x.wanted(x.base), atLeast(name, "connect-src")))
		}
	}
	if len(x.findings) == before {
		x.note("policy", OK, fmt.Sprintf("%d policies of the page let the script load and report.", len(x.page.policies)), "")
	}
}

// atLeast names a directive of its own where the policy has default-src alone.
func atLeast(has, own string) string {
	if has == "default-src" {
		return own
	}
	return has
}

// wanted returns the source to add for an address.
func (x *examination) wanted(u *url.URL) string {
	if origin(u) == origin(x.page.url) {
		return "'self'"
	}
	return origin(u)
}

// allows reports whether a list of sources lets the tag's script load: by its nonce, by its
// integrity, or by where it is from, which 'strict-dynamic' overrules.
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

// matchesAny reports whether an address is one of the sources; self is the page's.
func matchesAny(list []string, u, self *url.URL) bool {
	for _, s := range list {
		if matches(strings.ToLower(s), u, self) {
			return true
		}
	}
	return false
}

// matches reports whether an address is of a source, in lower case: *, 'self', a scheme, or a
// host with or without scheme, port and path. Where a source names http, https will do.
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

// isAt reports whether an address is at a host of a source, which may have a wildcard and a port.
func isAt(host string, u *url.URL) bool {
	name, port, named := strings.Cut(host, ":")
	if named && port != "*" && port != portOf(u) || !named && u.Port() != "" {
		return false
	}
	own := strings.ToLower(u.Hostname())
	below, wild := strings.CutPrefix(name, "*")
	return wild && strings.HasSuffix(own, below) || own == name
}

// isBelow reports whether a path is that of a source: all below it, where that ends in a slash.
func isBelow(source, path string) bool {
	return source == "/" || source == path || strings.HasSuffix(source, "/") && strings.HasPrefix(path, source)
}

// portOf returns the port of an address, also where it is that of its scheme.
func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}
