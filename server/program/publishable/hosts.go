package publishable

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"

	"rail/server/opt"
	"rail/server/problem"
)

// name matches a DNS name or an IPv4 address, in lower case.
var name = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$`)

// Hosts returns the hosts of a body's member in the form of ASCII, without duplicates.
func Hosts(member string, list []string) ([]string, error) {
	out := make([]string, len(list))
	for i, h := range list {
		h = ASCII(h)
		if why := fault(h); why != "" {
			param := member + "[" + strconv.Itoa(i) + "]"
			return nil, problem.Invalid(param, "%s %s.", param, why)
		}
		out[i] = h
	}
	return opt.Distinct(out), nil
}

// ASCII returns a host, with its wildcard and port, in the form that browsers send: in lower case, and in
// Punycode if it has non-ASCII letters. A name without such a form is only lower-cased.
func ASCII(host string) string {
	name, port, ported := strings.Cut(strings.ToLower(host), ":")
	below, wild := strings.CutPrefix(name, "*.")
	if plain, err := idna.Lookup.ToASCII(below); err == nil && strings.ContainsFunc(below, foreign) {
		below = plain
	}
	if wild {
		below = "*." + below
	}
	if ported {
		below += ":" + port
	}
	return below
}

// foreign reports whether a character is not ASCII.
func foreign(r rune) bool { return r >= utf8.RuneSelf }

// fault returns why a host cannot be allowed, or "".
func fault(host string) string {
	host, port, ported := strings.Cut(host, ":")
	n, err := strconv.Atoi(port)
	below, wild := strings.CutPrefix(host, "*.")
	switch {
	case len(below) > 253 || !name.MatchString(below) || ported && err != nil:
		return "must be a host such as shop.example, *.shop.example or localhost:3000"
	case ported && (n < 1 || n > 65535):
		return "must have a port of 1 to 65535"
	case wild && isAddress(below):
		return "must not be a part of an address"
	case wild && Registrable(below) == "":
		return "must not stand for all hosts of a public suffix"
	}
	return ""
}

// isAddress reports whether a host is an IP address.
func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// Registrable returns the registrable domain of a host: acme.co.uk for shop.acme.co.uk, and "" for an address, a
// public suffix and localhost.
func Registrable(host string) string {
	if isAddress(host) {
		return ""
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil {
		return ""
	}
	return domain
}

// Origin is the origin of a page, as a browser reports it.
type Origin struct {
	Text         string // the header
	Scheme, Host string // the host without its port, in lower case
	port         string
}

// ParseOrigin parses the header Origin. It reports false unless it is a page's origin: for "null", other
// schemes, and anything with a path.
func ParseOrigin(header string) (Origin, bool) {
	u, err := url.Parse(header)
	if err != nil || len(header) > 300 || u.Host == "" || u.User != nil || u.Path+u.RawQuery+u.Fragment != "" {
		return Origin{}, false
	}
	o := Origin{Text: header, Scheme: u.Scheme, Host: ASCII(u.Hostname()), port: u.Port()}
	usual, ok := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	if o.port == "" {
		o.port = usual
	}
	return o, ok
}

// Names returns the host entries that match the origin: its host, and the wildcards of its parent domains, each
// without and with its port.
func (o Origin) Names() []string {
	out := []string{o.Host, o.Host + ":" + o.port}
	if isAddress(o.Host) {
		return out
	}
	for rest := o.Host; ; {
		_, parent, ok := strings.Cut(rest, ".")
		if !ok {
			return out
		}
		out, rest = append(out, "*."+parent, "*."+parent+":"+o.port), parent
	}
}

// Allows reports whether hosts include the origin.
func Allows(hosts []string, o Origin) bool {
	return slices.ContainsFunc(o.Names(), func(n string) bool { return slices.Contains(hosts, n) })
}
