package paypal_test

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/paypaltest"
	"rail/server/money/payout/paypal"
)

// A webhook is what PayPal sent.
type webhook struct {
	header http.Header
	body   []byte
}

// A postbox receives webhooks and answers 200.
type postbox struct {
	*setup
	hookID   string
	verifier *paypal.Verifier
	mu       sync.Mutex
	got      []webhook
}

func (p *postbox) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.got = append(p.got, webhook{r.Header.Clone(), body})
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, err
}

func receive(t *testing.T) *postbox {
	t.Helper()
	p := &postbox{}
	p.setup = start(t, paypaltest.Config{Client: &http.Client{Transport: p}})
	p.hookID = p.fake.Register("https://rail.example.com/hook")
	at, err := url.Parse(p.fake.URL())
	require.NoError(t, err)
	p.verifier = &paypal.Verifier{Clock: p.clock, Roots: p.fake.Roots(), CertHost: at.Host}
	return p
}

// one returns the only webhook about a payout on hold.
func (p *postbox) one(id string) webhook {
	p.t.Helper()
	if len(p.fake.Items(id)) == 0 {
		p.pay(transfer(id))
	}
	p.fake.Webhooks(p.t.Context())
	p.got = nil
	p.fake.Move(id, paypaltest.OnHold)
	p.fake.Webhooks(p.t.Context())
	return p.got[len(p.got)-1]
}

func (p *postbox) verify(w webhook) (paypal.Event, error) {
	return p.verifier.Verify(p.t.Context(), p.hookID, w.header, w.body)
}

func TestVerify(t *testing.T) {
	t.Parallel()
	p := receive(t)
	p.fake.FaultWebhooks(paypaltest.WebhookForged, paypaltest.WebhookTwice)
	p.pay(transfer("pyt_1"))
	p.clock.Advance(time.Hour)
	p.fake.Webhooks(t.Context())
	var types []string
	for n, w := range p.got {
		event, err := p.verify(w)
		if n == 0 {
			require.ErrorIs(t, err, paypal.ErrUnverified, "the forged one")
			continue
		}
		require.NoError(t, err)
		require.NotEmpty(t, event.ID)
		require.Equal(t, "pyt_1", event.PayoutID)
		types = append(types, event.Type)
	}
	require.Equal(t, []string{
		"PAYMENT.PAYOUTSBATCH.PROCESSING", "PAYMENT.PAYOUTS-ITEM.SUCCEEDED", "PAYMENT.PAYOUTS-ITEM.SUCCEEDED",
		"PAYMENT.PAYOUTSBATCH.SUCCESS",
	}, types)
	require.Equal(t, 1, p.fake.Calls(paypaltest.Certificate))
}

func TestCertificateKinds(t *testing.T) {
	t.Parallel()
	p := receive(t)
	for kind, reason := range map[paypaltest.CertKind]string{
		paypaltest.CertExpired:   "expired",
		paypaltest.CertForeign:   "unknown authority",
		paypaltest.CertWrongHost: "mail.example.com",
	} {
		p.fake.UseCertificate(kind)
		w := p.one("pyt_1")
		_, err := p.verify(w)
		require.ErrorIs(t, err, paypal.ErrUnverified, kind)
		require.ErrorContains(t, err, reason)
	}
	p.fake.UseCertificate(paypaltest.CertValid)
	_, err := p.verify(p.one("pyt_1"))
	require.NoError(t, err)
}

// TestRotation: each certificate is fetched once in seven days, and the last 16 are kept.
func TestRotation(t *testing.T) {
	t.Parallel()
	p := receive(t)
	var all []webhook
	for range 17 {
		p.fake.UseCertificate(paypaltest.CertValid)
		all = append(all, p.one("pyt_1"))
		p.clock.Advance(time.Minute)
	}
	verify := func(w webhook) int {
		t.Helper()
		_, err := p.verify(w)
		require.NoError(t, err)
		return p.fake.Calls(paypaltest.Certificate)
	}
	for n, w := range all {
		require.Equal(t, n+1, verify(w))
		p.clock.Advance(time.Second)
	}
	require.Equal(t, 17, verify(all[1]), "the second is still there")
	require.Equal(t, 18, verify(all[0]), "the first made room for the last")
	require.Equal(t, 18, verify(all[16]))
	p.clock.Advance(7*day - time.Minute)
	w := p.one("pyt_1")
	require.Equal(t, all[16].header.Get("PAYPAL-CERT-URL"), w.header.Get("PAYPAL-CERT-URL"))
	require.Equal(t, 18, verify(w))
	p.clock.Advance(time.Minute)
	require.Equal(t, 19, verify(w))
}

// TestCertificateExpires: a kept certificate is not valid beyond its own time.
func TestCertificateExpires(t *testing.T) {
	t.Parallel()
	p := receive(t)
	p.fake.UseCertificate(paypaltest.CertValid)
	p.clock.Advance(363 * day)
	w := p.one("pyt_1")
	_, err := p.verify(w)
	require.NoError(t, err)
	p.clock.Advance(2*day + time.Second)
	_, err = p.verify(w)
	require.ErrorIs(t, err, paypal.ErrUnverified)
}

func TestWebhookIsFalse(t *testing.T) {
	t.Parallel()
	p := receive(t)
	sent := p.one("pyt_1")
	_, err := p.verifier.Verify(t.Context(), "OTHER", sent.header, sent.body)
	require.ErrorIs(t, err, paypal.ErrUnverified)
	_, err = p.verifier.Verify(t.Context(), "", sent.header, sent.body)
	require.ErrorIs(t, err, paypal.ErrUnverified)
	_, err = p.verify(webhook{sent.header, append(bytes.Repeat([]byte(" "), 1<<20), sent.body...)})
	require.ErrorIs(t, err, paypal.ErrUnverified)
	require.ErrorContains(t, err, "1 MiB")
	host, cert := p.fake.URL(), sent.header.Get("PAYPAL-CERT-URL")
	for name, values := range map[string][]string{
		"PAYPAL-AUTH-ALGO":         {"", "SHA1withRSA", "none", "sha256withrsa"},
		"PAYPAL-TRANSMISSION-ID":   {"", "a", "a|b"},
		"PAYPAL-TRANSMISSION-TIME": {"", "now", "2026-03-01", "2026-03-01T12:00:01Z"},
		"PAYPAL-TRANSMISSION-SIG":  {"", "!", "AAAA"},
		"PAYPAL-CERT-URL": {
			"", host + "/v1/notifications/certs/NONE", host + "/v1/notifications/certs/../certs/" + path.Base(cert),
			cert + "?a=b", cert + "#a", cert + "/", strings.Replace(cert, "http://", "http://a:b@", 1),
			strings.Replace(cert, host, "https://api.paypal.com", 1), strings.Replace(cert, "http:", "ftp:", 1),
		},
	} {
		for _, value := range values {
			header := sent.header.Clone()
			header.Set(name, value)
			_, err := p.verify(webhook{header, sent.body})
			require.ErrorIs(t, err, paypal.ErrUnverified, "%s: %s", name, value)
		}
	}
	_, err = p.verify(sent)
	require.NoError(t, err)
}

func TestTransmissionTime(t *testing.T) {
	t.Parallel()
	for age, valid := range map[time.Duration]bool{
		3 * day:                      true,
		3*day + time.Second:          false,
		-5 * time.Minute:             true,
		-5*time.Minute - time.Second: false,
		-365 * day:                   false,
	} {
		p := receive(t)
		p.fake.UseCertificate(paypaltest.CertValid)
		w := p.one("pyt_1")
		p.clock.Advance(age)
		_, err := p.verify(w)
		if valid {
			require.NoError(t, err, age)
		} else {
			require.ErrorIs(t, err, paypal.ErrUnverified, age)
		}
	}
}

// TestCertificateAway: without the certificate a webhook is neither true nor false.
func TestCertificateAway(t *testing.T) {
	t.Parallel()
	for _, fault := range []paypaltest.Fault{paypaltest.FailBefore, paypaltest.Busy, paypaltest.Throttle, paypaltest.LoseRequest} {
		p := receive(t)
		w := p.one("pyt_1")
		p.fake.FailNext(paypaltest.Certificate, fault, fault, fault)
		_, err := p.verify(w)
		require.ErrorContains(t, err, "could not be fetched", fault)
		require.NotErrorIs(t, err, paypal.ErrUnverified)
		p.fake.FailNext(paypaltest.Certificate, paypaltest.NoFault)
		for err != nil {
			_, err = p.verify(w)
			require.NotErrorIs(t, err, paypal.ErrUnverified)
		}
	}
}

// A detour sends all requests to one address.
type detour struct{ to string }

func (d detour) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	at, err := url.Parse(d.to)
	if err != nil {
		return nil, err
	}
	r.URL.Scheme, r.URL.Host = at.Scheme, at.Host
	return http.DefaultTransport.RoundTrip(r)
}

// TestHostsOfPayPal: without another host, only PayPal's hosts serve certificates, and only by https.
func TestHostsOfPayPal(t *testing.T) {
	t.Parallel()
	p := receive(t)
	w := p.one("pyt_1")
	p.verifier = &paypal.Verifier{
		Clock: p.clock, Roots: p.fake.Roots(), HTTP: &http.Client{Transport: detour{p.fake.URL()}},
	}
	for host, valid := range map[string]bool{
		"https://api.paypal.com":                     true,
		"https://api-m.paypal.com":                   true,
		"https://api.sandbox.paypal.com":             true,
		"https://api-m.sandbox.paypal.com":           true,
		"http://api.paypal.com":                      false,
		"https://api.paypal.com.example.com":         false,
		"https://evilpaypal.com":                     false,
		"https://api.paypal.com@example.com":         false,
		"https://api.paypal.com:8443":                false,
		"https://www.paypal.com":                     false,
		"https://api.paypal.com/v1/notifications/..": false,
		p.fake.URL():                                 false,
	} {
		header := w.header.Clone()
		header.Set("PAYPAL-CERT-URL", strings.Replace(w.header.Get("PAYPAL-CERT-URL"), p.fake.URL(), host, 1))
		_, err := p.verify(webhook{header, w.body})
		if valid {
			require.NoError(t, err, host)
		} else {
			require.ErrorIs(t, err, paypal.ErrUnverified, host)
		}
	}
	require.Equal(t, 4, p.fake.Calls(paypaltest.Certificate))
}

// TestPlainHTTP: another host serves certificates by http only if it is local.
func TestPlainHTTP(t *testing.T) {
	t.Parallel()
	p := receive(t)
	w := p.one("pyt_1")
	w.header.Set("PAYPAL-CERT-URL", strings.Replace(w.header.Get("PAYPAL-CERT-URL"), p.fake.URL(), "http://pay.example.com", 1))
	p.verifier = &paypal.Verifier{
		Clock: p.clock, Roots: p.fake.Roots(), CertHost: "pay.example.com", HTTP: &http.Client{Transport: detour{p.fake.URL()}},
	}
	_, err := p.verify(w)
	require.ErrorIs(t, err, paypal.ErrUnverified)
	w.header.Set("PAYPAL-CERT-URL", strings.Replace(w.header.Get("PAYPAL-CERT-URL"), "http:", "https:", 1))
	_, err = p.verify(w)
	require.NoError(t, err)
}
