package paypal

import (
	"cmp"
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"strings"
	"sync"
	"time"

	"rail/server/clock"
)

// ErrUnverified means that PayPal did not send a webhook, or not now, or not for this address. Any other error of
// Verify is temporary: the certificate could not be fetched.
var ErrUnverified = errors.New("PayPal's signature of the webhook is not valid")

// unverified returns an ErrUnverified with a reason.
func unverified(format string, a ...any) error {
	return fmt.Errorf("%w: %w", ErrUnverified, fmt.Errorf(format, a...))
}

// Event is a verified webhook. PayoutID is the sender_item_id of its item, or the sender_batch_id of its batch: both
// are the payout's id. It is empty for other subjects.
//
// PayPal signs only a CRC-32 of the body, for which another body is easily found. An event is therefore a reason to
// poll the payout, and proves no state.
type Event struct{ ID, Type, PayoutID string }

// Verifier verifies webhooks. It is safe for concurrent use, and must not be copied after its first use.
type Verifier struct {
	HTTP  *http.Client
	Clock clock.Clock
	// Roots are the certificate authorities; nil for the system's.
	Roots *x509.CertPool
	// CertHost is the host, with its port, of an address that replaces PayPal's; empty for PayPal's hosts.
	CertHost string

	once  sync.Once
	http  *http.Client
	fetch chan struct{} // held by the only fetch of a certificate
	mu    sync.Mutex
	certs map[string]certificate
}

const (
	oldest = 3 * 24 * time.Hour // PayPal repeats a delivery for three days
	ahead  = 5 * time.Minute
	// leastKey is the least size of a key in bits.
	leastKey = 2048
)

// Verify checks the signature of a webhook that came to the address with a webhook id.
func (v *Verifier) Verify(ctx context.Context, webhookID string, header http.Header, body []byte) (Event, error) {
	if webhookID == "" || len(body) > maxBody {
		return Event{}, unverified("no webhook id, or a body above 1 MiB")
	}
	if algorithm := header.Get("PAYPAL-AUTH-ALGO"); algorithm != "SHA256withRSA" {
		return Event{}, unverified("the algorithm is %q", clip(algorithm, 80))
	}
	id, at := header.Get("PAYPAL-TRANSMISSION-ID"), header.Get("PAYPAL-TRANSMISSION-TIME")
	if err := v.timely(id, at); err != nil {
		return Event{}, err
	}
	signature, err := base64.StdEncoding.DecodeString(header.Get("PAYPAL-TRANSMISSION-SIG"))
	if err != nil {
		return Event{}, unverified("the signature is not in base64")
	}
	key, err := v.key(ctx, header.Get("PAYPAL-CERT-URL"))
	if err != nil {
		return Event{}, err
	}
	digest := sha256.Sum256(fmt.Appendf(nil, "%s|%s|%s|%d", id, at, webhookID, crc32.ChecksumIEEE(body)))
	if err := rsa.VerifyPKCS1v15(key, crypto.SHA256, digest[:], signature); err != nil {
		return Event{}, unverified("the signature: %w", err)
	}
	return readEvent(body)
}

// timely checks the id and the time of a transmission.
func (v *Verifier) timely(id, at string) error {
	if id == "" || strings.Contains(id, "|") {
		return unverified("no transmission id")
	}
	sent, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return unverified("the transmission time is %q", clip(at, 80))
	}
	if age := v.now().Sub(sent); age > oldest || age < -ahead {
		return unverified("the transmission time is %s", sent.UTC().Format(time.RFC3339))
	}
	return nil
}

// readEvent reads a signed body.
func readEvent(body []byte) (Event, error) {
	var e struct {
		ID       string `json:"id"`
		Type     string `json:"event_type"`
		Resource struct {
			SenderBatchID string      `json:"sender_batch_id"`
			Item          payoutItem  `json:"payout_item"`
			Batch         batchHeader `json:"batch_header"`
		} `json:"resource"`
	}
	if err := json.Unmarshal(body, &e); err != nil || e.ID == "" || e.Type == "" {
		return Event{}, unverified("the body is not an event")
	}
	r := e.Resource
	return Event{
		ID:       e.ID,
		Type:     e.Type,
		PayoutID: cmp.Or(r.Item.SenderItemID, r.SenderBatchID, r.Batch.Sender.SenderBatchID),
	}, nil
}

func (v *Verifier) now() time.Time {
	if v.Clock == nil {
		return clock.System{}.Now().Time
	}
	return v.Clock.Now().Time
}
