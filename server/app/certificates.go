package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"rail/gen/db"
	"rail/server/app/config"
	"rail/server/clock"
	"rail/server/secret"
)

// certificates gets certificates by ACME for the hosts of RAIL_TLS_DOMAIN. The authority asks for proof by
// tls-alpn-01, on the API's address. Servers share everything through the database, so that each can answer the
// authority, and a new one has the others' certificates.
type certificates struct {
	*autocert.Manager
	hosts []string
	log   *slog.Logger
}

// newCertificates returns nil for a server without https.
func newCertificates(cfg config.Config, store certificateStore) *certificates {
	if len(cfg.TLSDomains) == 0 {
		return nil
	}
	store.requests = &authorityRequests{of: map[string]clock.Time{}}
	for _, host := range cfg.TLSDomains {
		store.requests.of[host], store.requests.of[host+"+rsa"] = clock.Time{}, clock.Time{}
	}
	return &certificates{hosts: cfg.TLSDomains, log: store.log, Manager: &autocert.Manager{
		Prompt: autocert.AcceptTOS, Email: cfg.TLSEmail, Cache: store, HostPolicy: autocert.HostWhitelist(cfg.TLSDomains...),
		Client: &acme.Client{DirectoryURL: cfg.TLSDirectory, UserAgent: "Rail"},
	}}
}

// config returns the TLS configuration.
func (c *certificates) config() *tls.Config {
	t := c.TLSConfig()
	t.MinVersion = tls.VersionTLS12
	t.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		// Otherwise the manager would look for proofs of any host first.
		if !slices.Contains(c.hosts, strings.ToLower(hello.ServerName)) {
			return nil, fmt.Errorf("%q is not a host of RAIL_TLS_DOMAIN", hello.ServerName)
		}
		return c.GetCertificate(hello)
	}
	return t
}

// lookEvery leaves time between tries, even if many visitors wait: an authority limits the failures in an hour.
const lookEvery = 15 * time.Minute

// watch gets certificates before the first visitor needs one. It logs when one cannot be obtained or renewed,
// and when that works again.
func (c *certificates) watch(ctx context.Context) {
	failing := map[string]bool{}
	for {
		for _, host := range c.hosts {
			err := c.check(host)
			if err != nil && !failing[host] {
				c.log.Warn("no certificate", "host", host, "error", err)
			}
			if err == nil && failing[host] {
				c.log.Info("certificate obtained again", "host", host)
			}
			failing[host] = err != nil
		}
		if clock.Wait(ctx, lookEvery) != nil {
			return
		}
	}
}

// check returns why a host has no certificate, or an expiring one. The manager renews in the last third of its
// time.
func (c *certificates) check(host string) error {
	got, err := c.GetCertificate(&tls.ClientHelloInfo{
		ServerName: host, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
	})
	if err != nil {
		return err
	}
	from, to := got.Leaf.NotBefore, got.Leaf.NotAfter
	if to.Sub(clock.Real()) < to.Sub(from)/5 {
		return fmt.Errorf("it is not renewed, and expires on %s", to.Format(time.DateOnly))
	}
	return nil
}

// strict asks browsers to use https only, for a year. A console with a separate address does not use https, and
// may have the same host.
func (a *App) strict(h http.Handler) http.Handler {
	if a.config.ConsoleAddr != "" {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Strict-Transport-Security", "max-age=31536000")
		h.ServeHTTP(w, r)
	})
}

// redirect redirects pages from http to https. Other http requests may have sent a key in clear text: they are
// refused, so that it is noticed (decisions, 290).
func (a *App) redirect(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "Use https://.", http.StatusForbidden)
		return
	}
	name, _, _ := strings.Cut(strings.ToLower(r.Host), ":")
	ours := a.config.TLSDomains[max(0, slices.Index(a.config.TLSDomains, name))]
	// The clients' port may differ from the port that the server listens on.
	if base, err := url.Parse(a.config.BaseURL); err == nil && base.Port() != "" {
		ours += ":" + base.Port()
	}
	to := "https://" + ours + r.URL.RequestURI()
	http.Redirect(w, r, to, http.StatusMovedPermanently) //nolint:gosec // the host is one of the operator's
}

// certificateStore stores certificates, sealed, in the database.
type certificateStore struct {
	pool     *pgxpool.Pool
	keeper   *secret.Keeper
	clock    clock.Clock
	log      *slog.Logger
	requests *authorityRequests
}

// authorityRequests tracks when the authority was asked for missing certificates, by name.
type authorityRequests struct {
	mu sync.Mutex
	of map[string]clock.Time
}

// errAsked keeps the manager from asking the authority again.
var errAsked = errors.New("the authority was recently asked for this certificate")

// missing returns the error for a missing certificate, upon which the manager asks the authority.
func (a *authorityRequests) missing(name string, now clock.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	last, certificate := a.of[name]
	if !certificate {
		return autocert.ErrCacheMiss
	}
	if now.Sub(last.Time) < lookEvery {
		return errAsked
	}
	a.of[name] = now
	return autocert.ErrCacheMiss
}

// CertificatePlace returns the place for sealing a certificate or an intermediate of obtaining one.
func CertificatePlace(name string) string { return "certificates/" + name }

// Get returns the content under a name. Content that does not open counts as missing, and is obtained again.
func (s certificateStore) Get(ctx context.Context, name string) ([]byte, error) {
	sealed, err := queries.Certificate(ctx, s.pool, name)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, s.requests.missing(name, s.clock.Now())
	}
	if err != nil {
		return nil, err
	}
	content, err := s.keeper.Open(sealed, CertificatePlace(name))
	if err != nil {
		return nil, s.requests.missing(name, s.clock.Now())
	}
	return content, nil
}

// Put stores the content under a name. The manager ignores a failure.
func (s certificateStore) Put(ctx context.Context, name string, content []byte) error {
	sealed, err := s.keeper.Seal(content, CertificatePlace(name))
	if err == nil {
		err = queries.CertificatePut(ctx, s.pool, db.CertificatePutParams{Name: name, Content: sealed, Now: s.clock.Now()})
	}
	if err != nil {
		s.log.Error("certificate not stored", "name", name, "error", err)
	}
	return err
}

// Delete deletes the content under a name.
func (s certificateStore) Delete(ctx context.Context, name string) error {
	return queries.CertificateDelete(ctx, s.pool, name)
}
