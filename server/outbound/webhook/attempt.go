package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"rail/server/clock"
)

const (
	// Deadline bounds a whole attempt, from the name lookup to the answer.
	Deadline = 10 * time.Second
	// maxAnswer is how much of an answer is read and discarded.
	maxAnswer = 64 << 10
	// maxHeaders bounds the answer's headers.
	maxHeaders = 64 << 10
)

// Message is a delivery to send: Body is signed and sent unchanged.
type Message struct {
	URL, EventID, DeliveryID, Type, RequestID string
	Attempt                                   int
	Body                                      []byte
	Secrets                                   []string // newest first
}

// Outcome is the result of an attempt. Code is the answer's status, 0 without an answer; Err explains a failure,
// and is "" for an acknowledgement.
type Outcome struct {
	Code  int
	Err   string
	Took  time.Duration
	Start time.Time
}

// Client sends messages. Clients do not share connections.
type Client struct {
	http  *http.Client
	agent string
}

// Dial opens connections, such as Guard.DialContext.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// NewClient returns a client with service as its user agent. It uses only dial for connections: no proxy,
// redirects, cookies or compression.
func NewClient(service string, dial Dial) *Client {
	return &Client{
		agent: service + "-Webhooks/1.0",
		http: &http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{
				Proxy: nil, DialContext: dial, DisableCompression: true, MaxResponseHeaderBytes: maxHeaders, MaxIdleConnsPerHost: 1,
				TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
				TLSNextProto:    map[string]func(string, *tls.Conn) http.RoundTripper{},
			},
		},
	}
}

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Send makes one attempt, signed at the time now.
func (c *Client) Send(ctx context.Context, m Message, now time.Time) Outcome {
	ctx, cancel := context.WithTimeout(ctx, Deadline)
	defer cancel()
	start := clock.Real()
	code, err := c.post(ctx, m, now)
	o := Outcome{Code: code, Took: time.Since(start), Start: now}
	switch {
	case err != nil:
		o.Err = reason(ctx, err)
	case code < 200 || code > 299:
		o.Err = fmt.Sprintf("The receiver answered %d.", code)
	}
	return o
}

// post sends the request, with Rail's signature and that of Standard Webhooks, and returns the answer's status.
func (c *Client) post(ctx context.Context, m Message, now time.Time) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL, bytes.NewReader(m.Body))
	if err != nil {
		return 0, err
	}
	h := req.Header
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", c.agent)
	h.Set("Rail-Signature", RailSignature(now, m.Body, m.Secrets...))
	h.Set("Rail-Event", m.Type)
	h.Set("Rail-Event-Id", m.EventID)
	h.Set("Rail-Delivery-Id", m.DeliveryID)
	h.Set("Rail-Attempt", strconv.Itoa(m.Attempt))
	if m.RequestID != "" {
		h.Set("Rail-Request-Id", m.RequestID)
	}
	// Assigned directly, since Set would capitalize the names.
	h["webhook-id"] = []string{m.EventID}
	h["webhook-timestamp"] = []string{strconv.FormatInt(now.Unix(), 10)}
	h["webhook-signature"] = []string{StandardSignature(m.EventID, now, m.Body, m.Secrets...)}
	res, err := c.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close() //nolint:errcheck // nothing more is wanted of it
	if res.StatusCode == http.StatusSwitchingProtocols {
		return res.StatusCode, nil // its body is the bare connection, which has no deadline
	}
	defer context.AfterFunc(ctx, func() { _ = res.Body.Close() })() // the deadline ends reading any body
	_, _ = io.CopyN(io.Discard, res.Body, maxAnswer)                // the content does not matter
	return res.StatusCode, nil
}

// reason explains a missing answer. It includes neither addresses nor the receiver's text, with which a webhook
// could explore the operator's network.
func reason(ctx context.Context, err error) string {
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	var name x509.HostnameError
	var authority x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var alert tls.AlertError
	var record tls.RecordHeaderError
	switch {
	case errors.Is(err, ErrRefused):
		return "The address is not public."
	case errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.Is(err, context.DeadlineExceeded):
		return "There was no answer within 10 seconds."
	case errors.As(err, &dns):
		return "The name of the receiver did not resolve."
	case errors.As(err, &name):
		return "The receiver's certificate is for another name."
	case errors.As(err, &authority):
		return "The receiver's certificate is not valid: it is signed by an unknown authority."
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "The receiver's certificate is not valid: it has expired, or is not valid yet."
	case errors.As(err, &cert):
		return "The receiver's certificate is not valid."
	case errors.As(err, &alert), errors.As(err, &record):
		return "The TLS handshake failed."
	case errors.Is(err, syscall.ECONNREFUSED):
		return "The connection was refused."
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "The connection was closed without an answer."
	case strings.Contains(err.Error(), "tls:"):
		return "The TLS handshake failed."
	}
	return "The receiver's answer could not be read."
}
