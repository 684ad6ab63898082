package paypaltest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// CertKind is a kind of certificate that signs webhooks.
type CertKind string

// The kinds of certificates. Only the first is to be trusted.
const (
	CertValid     CertKind = "valid"
	CertExpired   CertKind = "expired"
	CertForeign   CertKind = "foreign"    // of a certificate authority outside Roots
	CertWrongHost CertKind = "wrong_host" // for another host
)

// leafLife is the validity of a certificate.
const leafLife = 365 * 24 * time.Hour

// leafKeys are shared by all fakes of a process, since an RSA key takes long to make. Certificates of a fake use
// them in turn.
var leafKeys = []func() *rsa.PrivateKey{sync.OnceValue(newLeafKey), sync.OnceValue(newLeafKey)}

func newLeafKey() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) }

// An authority issues the certificates of webhooks by an intermediate certificate.
type authority struct {
	root, middle *x509.Certificate
	key          *ecdsa.PrivateKey
	leaves       map[string]*leaf
	current      *leaf
}

// A leaf is a certificate that signs webhooks. Its file also has the intermediate certificate.
type leaf struct {
	id   string
	kind CertKind
	cert *x509.Certificate
	file string
	key  *rsa.PrivateKey
}

func newAuthority(now time.Time) *authority {
	rootKey := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	root := issue(template("Fake Root", now.AddDate(-10, 0, 0), now.AddDate(40, 0, 0), true), nil, &rootKey.PublicKey, rootKey)
	middle := issue(template("Fake Intermediate", now.AddDate(-10, 0, 0), now.AddDate(40, 0, 0), true), root, &key.PublicKey, rootKey)
	return &authority{root: root, middle: middle, key: key, leaves: map[string]*leaf{}}
}

// template returns a certificate without keys.
func template(name string, from, until time.Time, authority bool) *x509.Certificate {
	t := &x509.Certificate{
		SerialNumber:          must(rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))),
		Subject:               pkix.Name{CommonName: name, Organization: []string{"Fake PayPal"}},
		NotBefore:             from,
		NotAfter:              until,
		BasicConstraintsValid: true,
		IsCA:                  authority,
		KeyUsage:              x509.KeyUsageDigitalSignature,
	}
	if authority {
		t.KeyUsage = x509.KeyUsageCertSign
	} else {
		t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	}
	return t
}

// issue signs a certificate; without a parent it signs itself.
func issue(t, parent *x509.Certificate, public any, key *ecdsa.PrivateKey) *x509.Certificate {
	if parent == nil {
		parent = t
	}
	return must(x509.ParseCertificate(must(x509.CreateCertificate(rand.Reader, t, parent, public, key))))
}

// Roots returns the certificate authorities of PayPal, as the fake has them.
func (s *Server) Roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(s.authority.root)
	return pool
}

// UseCertificate signs later webhooks with a new certificate of a kind. Earlier certificates stay available.
func (s *Server) UseCertificate(kind CertKind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.useCertificate(kind)
}

func (s *Server) useCertificate(kind CertKind) {
	now, a := s.now(), s.authority
	from, until := now.Add(-24*time.Hour), now.Add(leafLife)
	issuer := a
	switch kind {
	case CertExpired:
		from, until = now.Add(-leafLife), now.Add(-24*time.Hour)
	case CertForeign:
		issuer = newAuthority(now)
	}
	t := template(s.config.CertName, from, until, false)
	t.DNSNames = []string{s.config.CertName}
	if at, err := url.Parse(s.url); err == nil {
		if ip := net.ParseIP(at.Hostname()); ip != nil {
			t.IPAddresses = []net.IP{ip}
		} else {
			t.DNSNames = append(t.DNSNames, at.Hostname())
		}
	}
	if kind == CertWrongHost {
		t.Subject.CommonName, t.DNSNames, t.IPAddresses = "mail.example.com", []string{"mail.example.com"}, nil
	}
	key := leafKeys[len(a.leaves)%len(leafKeys)]()
	cert := issue(t, issuer.middle, &key.PublicKey, issuer.key)
	a.current = &leaf{
		id:   "CERT-" + s.next(24, "certificate"),
		kind: kind,
		cert: cert,
		file: block(cert) + block(issuer.middle),
		key:  key,
	}
	a.leaves[a.current.id] = a.current
}

// signer returns the certificate for the next webhook. A valid one is renewed before it expires.
func (s *Server) signer() *leaf {
	current := s.authority.current
	if current == nil || current.kind == CertValid && s.now().After(current.cert.NotAfter.Add(-24*time.Hour)) {
		s.useCertificate(CertValid)
	}
	return s.authority.current
}

// certificate serves a certificate with its intermediate certificate as PEM.
func (s *Server) certificate(r *http.Request, _ []byte) answer {
	l := s.authority.leaves[r.PathValue("id")]
	if l == nil {
		return unknownID()
	}
	return answer{status: http.StatusOK, body: l.file}
}

func block(c *x509.Certificate) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
