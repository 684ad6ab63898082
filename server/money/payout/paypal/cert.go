package paypal

import (
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"time"
)

const (
	keepCerts = 7 * 24 * time.Hour
	mostCerts = 16
	// mostInFile bounds the certificates of a file.
	mostInFile = 10
)

// certHosts serve the certificates of PayPal.
var certHosts = []string{"api.paypal.com", "api-m.paypal.com", "api.sandbox.paypal.com", "api-m.sandbox.paypal.com"}

// certNames are the names in the certificates of PayPal.
var certNames = []string{"messageverificationcerts.paypal.com", "messageverificationcerts.sandbox.paypal.com"}

var certPath = regexp.MustCompile(`^/v1/notifications/certs/[A-Za-z0-9_-]{1,128}$`)

// certificate is a fetched file: a certificate that signs webhooks, and those between it and the authority.
type certificate struct {
	leaf    *x509.Certificate
	between *x509.CertPool
	fetched time.Time
}

// key returns the public key of the certificate at an address.
func (v *Verifier) key(ctx context.Context, address string) (*rsa.PublicKey, error) {
	if !v.accepts(address) {
		return nil, unverified("the certificate is at %q", clip(address, 200))
	}
	v.once.Do(func() {
		v.http, v.fetch, v.certs = withoutRedirects(v.HTTP), make(chan struct{}, 1), map[string]certificate{}
	})
	if key, err := v.check(v.cached(address)); err == nil {
		return key, nil
	}
	select {
	case v.fetch <- struct{}{}:
		defer func() { <-v.fetch }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if key, err := v.check(v.cached(address)); err == nil {
		return key, nil
	}
	c, err := v.download(ctx, address)
	if err != nil {
		return nil, err
	}
	key, err := v.check(c)
	if err != nil {
		return nil, err
	}
	v.store(address, c)
	return key, nil
}

// accepts reports whether an address of a certificate is PayPal's, or at the host that replaces it.
func (v *Verifier) accepts(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" || !certPath.MatchString(u.EscapedPath()) {
		return false
	}
	if v.CertHost == "" {
		return u.Scheme == "https" && slices.Contains(certHosts, u.Host)
	}
	return u.Host == v.CertHost && (u.Scheme == "https" || u.Scheme == "http" && loopback(u.Hostname()))
}

func loopback(host string) bool { return host == "localhost" || net.ParseIP(host).IsLoopback() }

// check verifies the chain, the name and the time of a certificate, and returns its key.
func (v *Verifier) check(c certificate) (*rsa.PublicKey, error) {
	if c.leaf == nil {
		return nil, unverified("no certificate")
	}
	key, ok := c.leaf.PublicKey.(*rsa.PublicKey)
	if !ok || key.N.BitLen() < leastKey {
		return nil, unverified("the certificate has no RSA key of %d bits", leastKey)
	}
	var failed error
	for _, name := range certNames {
		_, err := c.leaf.Verify(x509.VerifyOptions{
			DNSName:       name,
			Roots:         v.Roots,
			Intermediates: c.between,
			CurrentTime:   v.now(),
		})
		if err == nil {
			return key, nil
		}
		if failed == nil {
			failed = err
		}
	}
	return nil, unverified("the certificate: %w", failed)
}

// download fetches a certificate.
func (v *Verifier) download(ctx context.Context, address string) (c certificate, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return c, err
	}
	res, err := v.http.Do(req)
	if err != nil {
		return c, fmt.Errorf("the certificate of the webhook could not be fetched: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	file, err := io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	switch {
	case res.StatusCode == http.StatusNotFound:
		return c, unverified("PayPal has no such certificate")
	case res.StatusCode != http.StatusOK:
		return c, fmt.Errorf("the certificate of the webhook could not be fetched: PayPal answered %d", res.StatusCode)
	case err != nil:
		return c, fmt.Errorf("the certificate of the webhook could not be fetched: %w", err)
	case len(file) > maxBody:
		return c, unverified("the file of the certificate is too large")
	}
	return parseFile(file, v.now())
}

// parseFile reads a certificate and, after it, those between it and the authority.
func parseFile(file []byte, now time.Time) (certificate, error) {
	c := certificate{between: x509.NewCertPool(), fetched: now}
	for range mostInFile {
		block, rest := pem.Decode(file)
		if block == nil {
			break
		}
		file = rest
		if block.Type != "CERTIFICATE" {
			continue
		}
		parsed, err := x509.ParseCertificate(block.Bytes)
		switch {
		case err != nil:
			return certificate{}, unverified("the certificate: %w", err)
		case c.leaf == nil:
			c.leaf = parsed
		default:
			c.between.AddCert(parsed)
		}
	}
	return c, nil
}

// cached returns the certificate of an address; an empty one if it is unknown or too old.
func (v *Verifier) cached(address string) certificate {
	v.mu.Lock()
	defer v.mu.Unlock()
	c := v.certs[address]
	if age := v.now().Sub(c.fetched); age < 0 || age >= keepCerts {
		return certificate{}
	}
	return c
}

// store keeps a certificate instead of the oldest one.
func (v *Verifier) store(address string, c certificate) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, ok := v.certs[address]; !ok && len(v.certs) >= mostCerts {
		var first string
		for other, o := range v.certs {
			if first == "" || o.fetched.Before(v.certs[first].fetched) {
				first = other
			}
		}
		delete(v.certs, first)
	}
	v.certs[address] = c
}
