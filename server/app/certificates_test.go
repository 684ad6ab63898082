package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/letsencrypt/pebble/v2/ca"
	pebble "github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/acme/autocert"

	"rail/server/app/config"
	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/harness/process"
	"rail/server/harness/wait"
)

// authority is a local certificate authority with real challenges. It resolves every host to this machine, and
// connects to a port of the server in place of 443.
type authority struct {
	*httptest.Server
	roots *x509.CertPool
}

// newAuthority starts one; Pebble's validator waits some seconds unless TestMain has disabled that.
func newAuthority(t *testing.T, port int) authority {
	t.Helper()
	names, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	resolver := &dns.Server{Listener: names, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		answer := new(dns.Msg).SetReply(q)
		if one := q.Question[0]; one.Qtype == dns.TypeA {
			answer.Answer = []dns.RR{&dns.A{
				Hdr: dns.RR_Header{Name: one.Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 1}, A: net.IPv4(127, 0, 0, 1),
			}}
		}
		_ = w.WriteMsg(answer) // a client that left needs no answer
	})}
	go func() { _ = resolver.ActivateAndServe() }() // it ends with the test
	t.Cleanup(func() { _ = resolver.Shutdown() })
	store, silent := pebble.NewMemoryStore(), log.New(io.Discard, "", 0)
	issuer := ca.New(silent, store, "", "ecdsa", 0, 1, map[string]ca.Profile{"default": {}})
	front := wfe.New(silent, store, va.New(silent, 1, port, true, names.Addr().String(), store), issuer, nil, true, false, 0, 0)
	a := authority{httptest.NewTLSServer(front.Handler()), x509.NewCertPool()}
	t.Cleanup(a.Close)
	root, err := x509.ParseCertificate(issuer.GetRootCert(0).DER)
	require.NoError(t, err)
	a.roots.AddCert(root)
	return a
}

// serveTLS serves a host with a certificate of the authority, until the test or end ends it.
func (by authority) serveTLS(t *testing.T, pool *pgxpool.Pool, l net.Listener) (end func()) {
	t.Helper()
	a := newApp(t, pool, func(c *config.Config) {
		c.SecretKey, c.TLSDomains, c.TLSDirectory = [32]byte{7}, []string{"rail.example"}, by.URL+"/dir"
	})
	a.tls.Client.HTTPClient = by.Client()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- a.Serve(ctx, l) }()
	return func() { cancel(); require.NoError(t, <-served) }
}

// ask gets the probe of a host at an address.
func (by authority) ask(t *testing.T, host string, at net.Addr) (*http.Response, error) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{
		ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: by.roots},
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", at.String())
		},
	}}
	t.Cleanup(client.CloseIdleConnections)
	res, err := client.Get("https://" + host + "/healthz")
	if err == nil {
		require.NoError(t, res.Body.Close())
	}
	return res, err
}

// TestCertificates: a server gets its certificate by proving control of the host, and a later server has it
// without a request.
func TestCertificates(t *testing.T) {
	pool := pgtest.New(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	by := newAuthority(t, l.Addr().(*net.TCPAddr).Port)
	end := by.serveTLS(t, pool, l)
	res, err := by.ask(t, "rail.example", l.Addr())
	require.NoError(t, err)
	require.Equal(t, []any{http.StatusOK, 2, "max-age=31536000"},
		[]any{res.StatusCode, res.ProtoMajor, res.Header.Get("Strict-Transport-Security")})
	first := res.TLS.PeerCertificates[0]
	require.Equal(t, []string{"rail.example"}, first.DNSNames)
	for _, other := range []string{"other.example", "evil.rail.example"} {
		_, err = by.ask(t, other, l.Addr())
		require.ErrorContains(t, err, "tls: ", other)
	}
	wait.Until(t, func() bool {
		var count int
		require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*) FROM certificates`).Scan(&count))
		return count == 2
	}, "the account and the certificate")
	end()
	by.Close()

	l, err = net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	end = by.serveTLS(t, pool, l)
	defer end()
	res, err = by.ask(t, "rail.example", l.Addr())
	require.NoError(t, err)
	require.Equal(t, first.SerialNumber, res.TLS.PeerCertificates[0].SerialNumber)
	var names []string
	var open bool
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT array_agg(name ORDER BY name),
		bool_or(position('PRIVATE KEY'::bytea IN content) > 0) FROM certificates`).Scan(&names, &open))
	require.Equal(t, []string{"acme_account+key", "rail.example"}, names, "what proved it is gone, and others left nothing")
	require.False(t, open, "sealed")
}

// TestCertificateFails: a host that the authority cannot verify gets no certificate, and nothing hangs.
func TestCertificateFails(t *testing.T) {
	port, err := process.FreePort()
	require.NoError(t, err)
	closed, err := strconv.Atoi(port)
	require.NoError(t, err)
	by := newAuthority(t, closed)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer by.serveTLS(t, pgtest.New(t), l)()
	_, err = by.ask(t, "rail.example", l.Addr())
	require.ErrorContains(t, err, "tls: ")
}

// TestAuthorityIsAskedSeldom: visitors of a host without a certificate do not exhaust the authority's rate
// limit, and get a certificate obtained by another server.
func TestAuthorityIsAskedSeldom(t *testing.T) {
	now := clock.NewManual(time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC))
	store := newAppBy(t, now, pgtest.New(t), func(c *config.Config) { c.TLSDomains = []string{"rail.example"} }).tls.Cache
	get := func(name string) error {
		_, err := store.Get(t.Context(), name)
		return err
	}
	for range 2 {
		require.ErrorIs(t, get("rail.example"), autocert.ErrCacheMiss)
		require.ErrorIs(t, get("rail.example"), errAsked)
		require.ErrorIs(t, get("rail.example+rsa"), autocert.ErrCacheMiss)
		now.Advance(lookEvery - time.Second)
		require.ErrorIs(t, get("rail.example"), errAsked)
		now.Advance(time.Second)
	}
	for range 2 {
		require.ErrorIs(t, get("acme_account+key"), autocert.ErrCacheMiss, "it is made here")
	}
	require.ErrorIs(t, get("rail.example"), autocert.ErrCacheMiss)
	require.NoError(t, store.Put(t.Context(), "rail.example", []byte("of another server")))
	require.NoError(t, get("rail.example"))
}

func TestRedirect(t *testing.T) {
	a := newApp(t, nil, func(c *config.Config) {
		c.TLSDomains, c.BaseURL = []string{"rail.example", "b.example"}, "https://rail.example"
	})
	for from, to := range map[string]string{
		"http://rail.example/portal?x=1":  "https://rail.example/portal?x=1",
		"http://B.example:80/r/AAA":       "https://b.example/r/AAA",
		"http://evil.example//evil.test/": "https://rail.example//evil.test/",
	} {
		w := httptest.NewRecorder()
		a.redirect(w, httptest.NewRequest(http.MethodGet, from, nil))
		require.Equal(t, []any{http.StatusMovedPermanently, to}, []any{w.Code, w.Header().Get("Location")})
	}
	a.config.BaseURL = "https://rail.example:8443"
	w := httptest.NewRecorder()
	a.redirect(w, httptest.NewRequest(http.MethodGet, "http://rail.example:8080/docs", nil))
	require.Equal(t, "https://rail.example:8443/docs", w.Header().Get("Location"))
	w = httptest.NewRecorder()
	a.redirect(w, httptest.NewRequest(http.MethodPost, "http://rail.example/v1/sales", nil))
	require.Equal(t, http.StatusForbidden, w.Code)
}
