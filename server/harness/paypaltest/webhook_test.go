package paypaltest_test

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/paypaltest"
)

// A receiver verifies webhooks as PayPal describes it, and keeps them.
type receiver struct {
	*sender
	hookID string
	host   string
	mu     sync.Mutex
	status int
	got    []object
	faults []error // of each webhook; nil for a valid one
	raw    []string
	header []http.Header
}

// receive registers a receiver.
func receive(t *testing.T, s *sender) *receiver {
	t.Helper()
	r := &receiver{sender: s, status: http.StatusOK, host: "messageverificationcerts.paypal.com"}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.hookID = s.Register(server.URL + "/hook")
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	fault := r.verify(request.Header, body)
	var event object
	_ = json.Unmarshal(body, &event)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got, r.faults = append(r.got, event), append(r.faults, fault)
	r.raw, r.header = append(r.raw, string(body)), append(r.header, request.Header)
	w.WriteHeader(r.status)
}

func (r *receiver) verify(h http.Header, body []byte) error {
	response, err := http.Get(h.Get("PAYPAL-CERT-URL"))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	file, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	first, rest := pem.Decode(file)
	leaf, err := x509.ParseCertificate(first.Bytes)
	if err != nil {
		return err
	}
	between := x509.NewCertPool()
	between.AppendCertsFromPEM(rest)
	if _, err := leaf.Verify(x509.VerifyOptions{
		DNSName:       r.host,
		Roots:         r.Roots(),
		Intermediates: between,
		CurrentTime:   r.clock.Now().Time,
	}); err != nil {
		return err
	}
	signature, err := base64.StdEncoding.DecodeString(h.Get("PAYPAL-TRANSMISSION-SIG"))
	if err != nil {
		return err
	}
	if h.Get("PAYPAL-AUTH-ALGO") != "SHA256withRSA" {
		return errors.New("unknown algorithm")
	}
	digest := sha256.Sum256(fmt.Appendf(nil, "%s|%s|%s|%d", h.Get("PAYPAL-TRANSMISSION-ID"),
		h.Get("PAYPAL-TRANSMISSION-TIME"), r.hookID, crc32.ChecksumIEEE(body)))
	return rsa.VerifyPKCS1v15(leaf.PublicKey.(*rsa.PublicKey), crypto.SHA256, digest[:], signature)
}

// types delivers the webhooks, and returns the types of the valid ones.
func (r *receiver) types() []string {
	r.t.Helper()
	before := len(r.got)
	r.Webhooks(r.t.Context())
	var out []string
	for n, event := range r.got[before:] {
		if r.faults[before+n] == nil {
			out = append(out, event["event_type"].(string))
		}
	}
	return out
}

const (
	processing = "PAYMENT.PAYOUTSBATCH.PROCESSING"
	succeeded  = "PAYMENT.PAYOUTS-ITEM.SUCCEEDED"
	success    = "PAYMENT.PAYOUTSBATCH.SUCCESS"
)

func TestWebhooks(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{})
	r := receive(t, s)
	batch := r.pay("pyt_1")
	require.Empty(t, r.types())
	r.clock.Advance(time.Hour)
	require.Equal(t, []string{processing, succeeded, success}, r.types())
	require.Empty(t, r.types(), "each event once")
	event := r.got[1]
	require.Equal(t, "payouts_item", event["resource_type"])
	require.Equal(t, "2026-03-01T12:01:00Z", event["create_time"])
	require.Equal(t, "SUCCESS", at(event, "resource.transaction_status"))
	require.Equal(t, "pyt_1", at(event, "resource.sender_batch_id"))
	require.Equal(t, "pyt_1", at(event, "resource.payout_item.sender_item_id"))
	require.Equal(t, batch, at(event, "resource.payout_batch_id"))
	require.Equal(t, batch, at(r.got[2], "resource.batch_header.payout_batch_id"))
	require.Nil(t, at(r.got[2], "resource.items"))
	require.Equal(t, "PROCESSING", at(r.got[0], "resource.batch_header.batch_status"), "the state of its time")
}

func TestEveryItemEvent(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{})
	r := receive(t, s)
	r.pay("pyt_1")
	r.Move("pyt_1", paypaltest.OnHold)
	r.types()
	for status, want := range map[paypaltest.Status][]string{
		paypaltest.Success:   {succeeded},
		paypaltest.Failed:    {"PAYMENT.PAYOUTS-ITEM.FAILED"},
		paypaltest.Unclaimed: {"PAYMENT.PAYOUTS-ITEM.UNCLAIMED"},
		paypaltest.OnHold:    {"PAYMENT.PAYOUTS-ITEM.HELD"},
		paypaltest.Returned:  {"PAYMENT.PAYOUTS-ITEM.RETURNED"},
		paypaltest.Blocked:   {"PAYMENT.PAYOUTS-ITEM.BLOCKED"},
		paypaltest.Refunded:  {"PAYMENT.PAYOUTS-ITEM.REFUNDED"},
		paypaltest.Reversed:  nil,
	} {
		r.Move("pyt_1", status)
		require.Equal(t, want, r.types())
	}
	r.Move("pyt_1", paypaltest.Unclaimed)
	r.want(http.StatusOK, http.MethodPost, "/v1/payments/payouts-item/"+r.Items("pyt_1")[0].ItemID+"/cancel", nil)
	require.Equal(t, []string{"PAYMENT.PAYOUTS-ITEM.UNCLAIMED", "PAYMENT.PAYOUTS-ITEM.CANCELED"}, r.types())
	r.pay("pyt_2")
	r.EndBatch("pyt_2", paypaltest.BatchDenied)
	require.Equal(t, []string{"PAYMENT.PAYOUTS-ITEM.DENIED", "PAYMENT.PAYOUTSBATCH.DENIED"}, r.types())
}

func TestWebhookFaults(t *testing.T) {
	t.Parallel()
	for fault, want := range map[paypaltest.WebhookFault][]string{
		paypaltest.WebhookLost:   {succeeded, success},
		paypaltest.WebhookTwice:  {processing, processing, succeeded, success},
		paypaltest.WebhookLate:   {succeeded, success},
		paypaltest.WebhookLast:   {succeeded, success, processing},
		paypaltest.WebhookForged: {processing, succeeded, success},
		paypaltest.WebhookRotate: {processing, succeeded, success},
	} {
		s := start(t, paypaltest.Config{})
		r := receive(t, s)
		r.FaultWebhooks(fault)
		r.pay("pyt_1")
		r.clock.Advance(2 * time.Minute)
		require.Equal(t, want, r.types(), fault)
		switch fault {
		case paypaltest.WebhookLate:
			require.Equal(t, 1, r.Queued())
			r.clock.Advance(10 * day)
			require.Equal(t, []string{processing}, r.types())
		case paypaltest.WebhookTwice:
			require.Equal(t, r.got[0]["id"], r.got[1]["id"])
			require.NotEqual(t, r.header[0].Get("PAYPAL-TRANSMISSION-ID"), r.header[1].Get("PAYPAL-TRANSMISSION-ID"))
		case paypaltest.WebhookForged:
			require.ErrorIs(t, r.faults[0], rsa.ErrVerification)
			require.Equal(t, "SUCCESS", at(r.got[0], "resource.batch_header.batch_status"), "a lie")
		}
		require.Zero(t, r.Queued())
	}
}

// TestRetries: a webhook without a 2xx answer comes again, with a new transmission.
func TestRetries(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{})
	r := receive(t, s)
	r.status = http.StatusInternalServerError
	r.pay("pyt_1")
	r.clock.Advance(time.Hour)
	sent := r.Webhooks(t.Context())
	require.Len(t, sent, 3)
	require.Equal(t, 500, sent[0].Status)
	require.Empty(t, r.Webhooks(t.Context()))
	r.status = http.StatusNoContent
	r.clock.Advance(3 * time.Hour)
	require.Equal(t, []string{processing, succeeded, success}, r.types())
	r.status = http.StatusBadRequest
	r.Move("pyt_1", paypaltest.Refunded)
	attempts := 0
	for range 40 {
		attempts += len(r.Webhooks(t.Context()))
		r.clock.Advance(3 * time.Hour)
	}
	require.Equal(t, 26, attempts)
	require.Zero(t, r.Queued())
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{})
	r := receive(t, s)
	r.pay("pyt_1")
	urls := map[string]bool{}
	for kind, want := range map[paypaltest.CertKind]any{
		paypaltest.CertValid:     nil,
		paypaltest.CertExpired:   new(x509.CertificateInvalidError),
		paypaltest.CertForeign:   new(x509.UnknownAuthorityError),
		paypaltest.CertWrongHost: new(x509.HostnameError),
	} {
		r.UseCertificate(kind)
		r.Move("pyt_1", paypaltest.OnHold)
		r.types()
		fault := r.faults[len(r.faults)-1]
		if want == nil {
			require.NoError(t, fault)
		} else {
			require.ErrorAs(t, fault, want, kind)
		}
		urls[r.header[len(r.header)-1].Get("PAYPAL-CERT-URL")] = true
	}
	require.Len(t, urls, 4)
	r.UseCertificate(paypaltest.CertValid)
	r.host = "127.0.0.1"
	r.clock.Advance(800 * day)
	r.signIn()
	r.pay("pyt_2")
	r.Move("pyt_2", paypaltest.OnHold)
	require.NotEmpty(t, r.types(), "renewed; also for the host of the fake")
}

func TestVerifyAtPayPal(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{})
	r := receive(t, s)
	r.FaultWebhooks(paypaltest.WebhookForged)
	r.pay("pyt_1")
	r.clock.Advance(time.Minute)
	r.types()
	ask := func(n int, hookID string) any {
		h := r.header[n]
		return r.want(http.StatusOK, http.MethodPost, "/v1/notifications/verify-webhook-signature", object{
			"auth_algo":         h.Get("PAYPAL-AUTH-ALGO"),
			"cert_url":          h.Get("PAYPAL-CERT-URL"),
			"transmission_id":   h.Get("PAYPAL-TRANSMISSION-ID"),
			"transmission_sig":  h.Get("PAYPAL-TRANSMISSION-SIG"),
			"transmission_time": h.Get("PAYPAL-TRANSMISSION-TIME"),
			"webhook_id":        hookID,
			"webhook_event":     json.RawMessage(r.raw[n]),
		})["verification_status"]
	}
	require.Equal(t, "FAILURE", ask(0, r.hookID), "the forged one")
	require.Equal(t, "SUCCESS", ask(1, r.hookID))
	require.Equal(t, "FAILURE", ask(1, "OTHER"))
	r.want(http.StatusBadRequest, http.MethodPost, "/v1/notifications/verify-webhook-signature", object{})
}

func TestRegisterWebhooks(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{})
	const path = "/v1/notifications/webhooks"
	hook := object{"url": "https://example.com/hook", "event_types": []object{{"name": succeeded}}}
	id := s.want(http.StatusCreated, http.MethodPost, path, hook)["id"].(string)
	require.Equal(t, "WEBHOOK_URL_ALREADY_EXISTS", s.want(http.StatusBadRequest, http.MethodPost, path, hook)["name"])
	s.want(http.StatusBadRequest, http.MethodPost, path, object{"url": "hook", "event_types": []object{{"name": "*"}}})
	s.want(http.StatusBadRequest, http.MethodPost, path, object{"url": "https://example.com/other"})
	require.Equal(t, id, at(s.want(http.StatusOK, http.MethodGet, path, nil), "webhooks.0.id"))
	require.Equal(t, "https://example.com/hook", s.want(http.StatusOK, http.MethodGet, path+"/"+id, nil)["url"])
	s.pay("pyt_1")
	s.clock.Advance(time.Hour)
	require.Equal(t, 1, s.Queued(), "only the event that it wants")
	s.want(http.StatusNoContent, http.MethodDelete, path+"/"+id, nil)
	s.want(http.StatusNotFound, http.MethodDelete, path+"/"+id, nil)
}

// TestManyAtOnce: eight clients repeat the same ids, and each is paid once.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	s := start(t, paypaltest.Config{Plan: paypaltest.Plan{Submit: paypaltest.Requests{LoseAnswer: 0.3, FailAfter: 0.3}}})
	r := receive(t, s)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for n := range 20 {
				_, _, _, _ = s.do(http.MethodPost, payouts, payout(fmt.Sprint("pyt_", n))) // some answers are lost
				s.clock.Advance(time.Second)
				s.Webhooks(t.Context())
				s.Paid()
			}
		})
	}
	wait.Wait()
	s.clock.Advance(time.Hour)
	r.Webhooks(t.Context())
	require.Len(t, r.got, 60)
	require.Len(t, s.Paid(), 20)
	for _, p := range s.Paid() {
		require.Equal(t, []int{1, 1}, []int{p.Accepted, p.Count}, p.SenderItemID)
	}
}
