package webhook

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/outbound/webhook/vectors"
)

// names is a resolver of a few names.
type names map[string][]string

func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	var out []netip.Addr
	for _, a := range n[host] {
		out = append(out, netip.MustParseAddr(a))
	}
	if out == nil {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return out, nil
}

func guarded(n names) *Guard {
	g := NewGuard(nil, false, "https://rail.example.org")
	g.Resolver = n
	return g
}

func TestGuardRefuses(t *testing.T) {
	g := guarded(nil)
	for _, u := range vectors.Refused {
		require.Error(t, g.Check(t.Context(), u), u)
	}
}

func TestGuardAccepts(t *testing.T) {
	g := guarded(nil) // nothing resolves, as in CI
	for _, u := range vectors.Accepted {
		require.NoError(t, g.Check(t.Context(), u), u)
	}
	g.HTTPSOnly = true
	require.Error(t, g.Check(t.Context(), "http://example.com/hooks"))
}

// TestGuardResolves: a name with one bad answer among good ones is refused when it is saved and when it is
// dialled, and the error contains no address.
func TestGuardResolves(t *testing.T) {
	for _, answers := range [][]string{
		{"127.0.0.1"}, {"169.254.169.254"}, {"::1"}, {"fd00:ec2::254"}, {"::ffff:10.0.0.1"}, {"64:ff9b::a9fe:a9fe"},
		{"0.0.0.0"}, {"::"},
		{"8.8.8.8", "10.0.0.1"}, {"10.0.0.1", "8.8.8.8"}, {"8.8.8.8", "::1"},
	} {
		g := guarded(names{"hooks.example.com": answers})
		require.ErrorIs(t, g.Check(t.Context(), "https://hooks.example.com/"), ErrRefused, "%v", answers)
		_, err := g.DialContext(t.Context(), "tcp", "hooks.example.com:443")
		require.ErrorIs(t, err, ErrRefused)
		for _, a := range answers {
			require.NotContains(t, err.Error(), a)
		}
	}
	g := guarded(names{"hooks.example.com": {"8.8.8.8", "2606:4700:4700::1111"}})
	require.NoError(t, g.Check(t.Context(), "https://hooks.example.com/"))
}

// TestGuardChecksDialedAddress: an address that passes the lookup is refused when it is dialled.
func TestGuardChecksDialedAddress(t *testing.T) {
	g := guarded(nil)
	for _, at := range []string{
		"127.0.0.1:80", "[::1]:80", "169.254.169.254:80", "10.1.2.3:443", "[::ffff:10.0.0.1]:80", "[fe80::1%lo]:80",
		"nonsense",
	} {
		require.ErrorIs(t, g.control("tcp", at, nil), ErrRefused, at)
		if !strings.Contains(at, "%") && at != "nonsense" {
			_, err := g.DialContext(t.Context(), "tcp", at)
			require.ErrorIs(t, err, ErrRefused, at)
		}
	}
	require.NoError(t, g.control("tcp", "8.8.8.8:443", nil))
	open := NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, false, "")
	require.NoError(t, open.control("tcp", "127.0.0.1:3000", nil))
	require.NoError(t, open.Check(t.Context(), "http://127.0.0.1:3000/hooks"))
	require.Error(t, open.Check(t.Context(), "http://10.0.0.1:3000/hooks"))
	_, err := g.DialContext(t.Context(), "tcp", "no.such.name:80")
	var dns *net.DNSError
	require.ErrorAs(t, err, &dns)
}

// TestAlternate: IPv6 and IPv4 take turns, so that the few dialled addresses contain both.
func TestAlternate(t *testing.T) {
	for addresses, want := range map[string]string{
		"::1 ::2 ::3 1.1.1.1": "::1 1.1.1.1 ::2 ::3", "1.1.1.1 ::1 1.1.1.2 ::2": "1.1.1.1 ::1 1.1.1.2 ::2",
		"1.1.1.1 1.1.1.2 1.1.1.3": "1.1.1.1 1.1.1.2 1.1.1.3", "::1": "::1",
	} {
		var found []netip.Addr
		for a := range strings.FieldsSeq(addresses) {
			found = append(found, netip.MustParseAddr(a))
		}
		var got []string
		for _, a := range alternate(found) {
			got = append(got, a.String())
		}
		require.Equal(t, want, strings.Join(got, " "))
	}
}

// TestGuardDialsNext: an address that does not answer takes only its share of the time.
func TestGuardDialsNext(t *testing.T) {
	port := deaf(t)
	open, err := net.Listen("tcp", net.JoinHostPort("127.0.0.2", port))
	require.NoError(t, err)
	t.Cleanup(func() { _ = open.Close() })
	g := NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, false, "")
	g.Resolver = names{"hooks.example.com": {"127.0.0.1", "127.0.0.2"}}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	t.Cleanup(cancel)
	conn, err := g.DialContext(ctx, "tcp", net.JoinHostPort("hooks.example.com", port))
	require.NoError(t, err)
	require.Equal(t, open.Addr(), conn.RemoteAddr())
	require.NoError(t, conn.Close())
}

// deaf returns a port of 127.0.0.1 whose queue of connections is full, so that the kernel answers no others.
func deaf(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Close(fd) })
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(t, syscall.Listen(fd, 0))
	name, err := syscall.Getsockname(fd)
	require.NoError(t, err)
	at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: name.(*syscall.SockaddrInet4).Port}
	for range 8 {
		conn, err := net.DialTimeout("tcp", at.String(), 200*time.Millisecond)
		if err != nil {
			_, port, _ := net.SplitHostPort(at.String())
			return port
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
	t.Skip("the kernel accepts connections beyond the queue")
	return ""
}
