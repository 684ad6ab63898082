package webhook

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
	"golang.org/x/net/idna"
)

// ErrRefused is the answer for every forbidden address. It does not reveal what a name resolves to, since that
// could expose the operator's network.
var ErrRefused = errors.New("the address is not public")

const (
	// resolveTime bounds the lookup when an address is saved.
	resolveTime = 1500 * time.Millisecond
	// maxDialled bounds how many addresses of a name are tried.
	maxDialled = 3
)

// Guard restricts webhooks to the public internet. It checks an address when it is saved, and every address
// again when it is dialled, since a name may resolve to another one by then. The zero value allows only public
// addresses.
type Guard struct {
	Allow     []netip.Prefix // networks allowed for development
	HTTPSOnly bool
	OwnHost   string // the service's host, which is refused
	Resolver  Resolver
	public    *ssrf.Guardian
}

// Resolver looks up names, such as *net.Resolver.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// NewGuard returns a guard with Go's resolver: the system's may interpret odd spellings as addresses.
func NewGuard(allow []netip.Prefix, httpsOnly bool, baseURL string) *Guard {
	own := ""
	if u, err := url.Parse(baseURL); err == nil {
		own = strings.ToLower(u.Hostname())
	}
	return &Guard{
		Allow: allow, HTTPSOnly: httpsOnly, OwnHost: own, Resolver: &net.Resolver{PreferGo: true},
		public: ssrf.New(ssrf.WithAnyPort()),
	}
}

// safe reports whether an address may be dialled.
func (g *Guard) safe(a netip.Addr) bool {
	if slices.ContainsFunc(g.Allow, func(p netip.Prefix) bool { return p.Contains(a.Unmap()) }) {
		return true
	}
	return !a.Is4In6() && a.Zone() == "" && g.public.SafeAddr(a) == nil
}

// Check validates an address to be saved. The error is a sentence for the client; a name that does not resolve
// is accepted.
func (g *Guard) Check(ctx context.Context, raw string) error {
	u, err := plainURL(raw)
	if err != nil {
		return err
	}
	if g.HTTPSOnly && u.Scheme != "https" {
		return errors.New("the address must begin with https://")
	}
	host, literal, err := hostOf(u)
	if err != nil {
		return err
	}
	if literal.IsValid() {
		if !g.safe(literal) {
			return ErrRefused
		}
		return nil
	}
	if len(g.Allow) == 0 && (internal(host) || host == g.OwnHost) {
		return ErrRefused
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTime)
	defer cancel()
	found, err := g.Resolver.LookupNetIP(ctx, "ip", host)
	if err == nil && slices.ContainsFunc(found, func(a netip.Addr) bool { return !g.safe(a.Unmap()) }) {
		return ErrRefused
	}
	return nil
}

// plainURL parses an address and refuses spellings that programs interpret differently: the checked address must
// be the dialled one.
func plainURL(raw string) (*url.URL, error) {
	if strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }) {
		return nil, errors.New("the address contains a space, a control character or a backslash")
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, errors.New("the address is invalid")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("the address must begin with https:// or http://")
	case u.User != nil || strings.Contains(u.Host, "@"):
		return nil, errors.New("the address must not contain a user name or a password")
	case u.Fragment != "" || strings.Contains(raw, "#"):
		return nil, errors.New("the address must not contain a fragment")
	case u.Opaque != "" || u.Hostname() == "" || strings.Contains(u.Host, "%"):
		return nil, errors.New("the address has no valid host")
	}
	return u, portOf(u)
}

// portOf allows the ports 80, 443 and 1024 to 65535. The others belong to mail, name servers and other services
// that receive no webhooks.
func portOf(u *url.URL) error {
	_, after, found := strings.Cut(u.Host[strings.LastIndex(u.Host, "]")+1:], ":")
	if !found {
		return nil
	}
	n, err := strconv.ParseUint(after, 10, 16)
	if err != nil || strconv.FormatUint(n, 10) != after || n != 80 && n != 443 && n < 1024 {
		return errors.New("the port must be 80, 443 or 1024 to 65535")
	}
	return nil
}

// hostOf returns the host as a name in lower case and ASCII, or as an address if it is one.
func hostOf(u *url.URL) (name string, literal netip.Addr, err error) {
	host := u.Hostname()
	if strings.HasPrefix(u.Host, "[") {
		literal, err = netip.ParseAddr(host)
		if err != nil || literal.Zone() != "" || literal.Is4In6() {
			return "", literal, ErrRefused
		}
		return host, literal, nil
	}
	ascii, err := idna.Lookup.ToASCII(host)
	if err != nil {
		return "", literal, errors.New("the address has no valid host")
	}
	name = strings.TrimSuffix(strings.ToLower(ascii), ".")
	labels := strings.Split(name, ".")
	if slices.Contains(labels, "") {
		return "", literal, errors.New("the address has no valid host")
	}
	if last := labels[len(labels)-1]; numeric(last) {
		if literal, err = netip.ParseAddr(name); err != nil {
			return "", netip.Addr{}, ErrRefused // an address in an odd spelling
		}
	}
	return name, literal, nil
}

// numeric reports whether a last label makes a host an IPv4 address, in decimal, octal or hexadecimal.
func numeric(label string) bool {
	if strings.HasPrefix(label, "0x") {
		return true
	}
	return strings.Trim(label, "0123456789") == ""
}

// locals are suffixes of names that resolve locally: those reserved for it (RFC 6761, 6762 with its appendix G,
// 8375), and common names in hosts files.
var locals = []string{
	".localhost", ".local", ".internal", ".intranet", ".private", ".corp", ".home", ".lan", ".home.arpa",
	".localdomain", ".localdomain4", ".localdomain6",
}

// internal reports whether a name is valid in a local network only.
func internal(name string) bool {
	if !strings.Contains(name, ".") {
		return true
	}
	return slices.ContainsFunc(locals, func(suffix string) bool { return strings.HasSuffix(name, suffix) })
}

// DialContext resolves the name, checks every answer, and dials a few addresses; each is checked again when it is
// dialled. The addresses share the time evenly, so that a silent address leaves time for the next.
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, Deadline) // http.Transport removes the request's deadline
	defer cancel()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if len(g.Allow) == 0 && g.OwnHost != "" && strings.EqualFold(strings.TrimSuffix(host, "."), g.OwnHost) {
		return nil, ErrRefused
	}
	found := []netip.Addr{}
	if a, err := netip.ParseAddr(host); err == nil {
		found = append(found, a)
	} else if found, err = g.Resolver.LookupNetIP(ctx, "ip", strings.TrimSuffix(host, ".")); err != nil {
		return nil, err
	}
	if len(found) == 0 || slices.ContainsFunc(found, func(a netip.Addr) bool { return !g.safe(a.Unmap()) }) {
		return nil, ErrRefused
	}
	found = alternate(found)
	found = found[:min(len(found), maxDialled)]
	end, _ := ctx.Deadline()
	for i, a := range found {
		var conn net.Conn
		dialer := net.Dialer{Control: g.control, Timeout: time.Until(end) / time.Duration(len(found)-i)}
		if conn, err = dialer.DialContext(ctx, network, net.JoinHostPort(a.Unmap().String(), port)); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// alternate orders addresses so that IPv6 and IPv4 take turns: a host often has only one of them. The family of the
// first address is first.
func alternate(found []netip.Addr) []netip.Addr {
	var same, other, out []netip.Addr
	for _, a := range found {
		if a.Unmap().Is4() == found[0].Unmap().Is4() {
			same = append(same, a)
		} else {
			other = append(other, a)
		}
	}
	for i := range found {
		out = append(out, same[min(i, len(same)):min(i+1, len(same))]...)
		out = append(out, other[min(i, len(other)):min(i+1, len(other))]...)
	}
	return out
}

// control receives the address just before the kernel connects to it.
func (g *Guard) control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !g.safe(at.Addr()) {
		return ErrRefused
	}
	return nil
}
