// Package paypal pays payouts by PayPal Payouts v1.
//
// A payout is a batch with one item. Its sender_batch_id and its sender_item_id are the payout's id, permanently
// (decisions, 323). PayPal refuses a repeated sender_batch_id for 30 days, which makes a repeated submission safe for
// that time. The header PayPal-Request-Id is not sent: it may also repeat a refusal whose cause is gone.
package paypal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"rail/server/clock"
	"rail/server/money/payout"
)

// The addresses of PayPal's API.
const (
	Live    = "https://api-m.paypal.com"
	Sandbox = "https://api-m.sandbox.paypal.com"
)

const (
	name        = "paypal"
	payoutsPath = "/v1/payments/payouts"
	// guardFor is the time after its first submission in which a transfer may be submitted again. PayPal prevents
	// duplicates for 30 days.
	guardFor = 25 * 24 * time.Hour
	timeout  = 15 * time.Second
)

// Config is an account at PayPal. HTTP may be nil; redirects are never followed.
type Config struct {
	URL      string
	ClientID string       `json:"-"`
	Secret   string       `json:"-"`
	Clock    clock.Clock  `json:"-"`
	HTTP     *http.Client `json:"-"`
}

// Format writes the address alone, so that no log shows the credentials.
func (c Config) Format(f fmt.State, _ rune) { fmt.Fprint(f, "PayPal at ", c.URL) }

// Rail is a payout.Rail. It is safe for concurrent use.
type Rail struct {
	config Config
	http   *http.Client
	fetch  chan struct{} // held by the only fetch of a token

	mu        sync.Mutex
	token     string
	expires   time.Time
	busyUntil time.Time
}

// Format writes the address alone, so that no log shows the credentials.
func (r *Rail) Format(f fmt.State, verb rune) { r.config.Format(f, verb) }

// New returns the rail of an account. It makes no request.
func New(c Config) *Rail {
	c.URL = strings.TrimSuffix(c.URL, "/")
	if c.Clock == nil {
		c.Clock = clock.System{}
	}
	return &Rail{config: c, http: withoutRedirects(c.HTTP), fetch: make(chan struct{}, 1)}
}

// withoutRedirects returns a client that does not send credentials or accept answers elsewhere.
func withoutRedirects(c *http.Client) *http.Client {
	client := http.Client{Timeout: timeout}
	if c != nil {
		client = *c
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client
}

// Name returns "paypal".
func (r *Rail) Name() string { return name }

// Methods returns "paypal".
func (r *Rail) Methods() []string { return []string{name} }

// Check fetches a token and reports whether the credentials are right and may pay.
func (r *Rail) Check(ctx context.Context) error {
	scopes, err := r.renew(ctx)
	if err == nil && len(scopes) > 0 && !strings.Contains(strings.Join(scopes, " "), "/payments/payouts") {
		return errors.New("the PayPal account is not enabled for Payouts: ask PayPal to enable it")
	}
	return err
}

// submission is the body of a request that creates a batch.
type submission struct {
	Header senderHeader `json:"sender_batch_header"`
	Items  []payoutItem `json:"items"`
}

type senderHeader struct {
	SenderBatchID string `json:"sender_batch_id"`
}

type payoutItem struct {
	RecipientType string `json:"recipient_type"`
	Receiver      string `json:"receiver"`
	Amount        money  `json:"amount"`
	SenderItemID  string `json:"sender_item_id"`
}

// Submit creates the batch of a transfer, and returns its payout_batch_id.
func (r *Rail) Submit(ctx context.Context, t payout.Transfer) (string, error) {
	if t.ExternalID != "" {
		return r.follow(ctx, t, t.ExternalID)
	}
	amount, err := toPay(t)
	if err != nil { // no earlier submission reached PayPal either
		return "", err
	}
	if t.SubmittedAt != nil && r.now().Sub(t.SubmittedAt.Time) > guardFor {
		return "", payout.ErrUnconfirmed
	}
	kind, receiver, err := receiverOf(t)
	if err != nil {
		return "", err
	}
	var created batch
	err = r.call(ctx, http.MethodPost, payoutsPath, submission{
		Header: senderHeader{SenderBatchID: t.ID},
		Items:  []payoutItem{{RecipientType: kind, Receiver: receiver, Amount: amount, SenderItemID: t.ID}},
	}, &created)
	if failed := (*apiError)(nil); errors.As(err, &failed) {
		return r.refused(ctx, t, failed)
	}
	if err != nil {
		return "", err
	}
	id := created.Header.ID
	if of := created.Header.Sender.SenderBatchID; !batchID.MatchString(id) || of != "" && of != t.ID {
		return "", errors.New("PayPal's answer to a submission does not name its batch")
	}
	return id, nil
}

// refused returns the id of an earlier submission of the transfer, or else the kind of error that its sender needs.
func (r *Rail) refused(ctx context.Context, t payout.Transfer, e *apiError) (string, error) {
	switch {
	case e.duplicate():
		id := e.linkedBatch()
		if id == "" {
			return "", fmt.Errorf("PayPal has the transfer and does not say in which batch: %w", e)
		}
		return r.follow(ctx, t, id)
	case e.needsFunds():
		return "", payout.ErrNeedsFunds
	case e.refusal():
		return "", payout.Refusal{Code: e.code(), Message: e.sentence()}
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden:
		return "", fmt.Errorf("%w: %w", payout.ErrNotSent, e)
	}
	return "", e
}

// follow returns the id of a batch after checking that it is the transfer's.
func (r *Rail) follow(ctx context.Context, t payout.Transfer, id string) (string, error) {
	b, err := r.batch(ctx, id)
	if err != nil {
		return "", err
	}
	if _, err := b.itemOf(t); err != nil {
		return "", err
	}
	return id, nil
}

// batch reads a batch from PayPal.
func (r *Rail) batch(ctx context.Context, id string) (b batch, err error) {
	if !batchID.MatchString(id) {
		return b, errors.New("the transfer has no id of a PayPal batch")
	}
	err = r.call(ctx, http.MethodGet, payoutsPath+"/"+url.PathEscape(id), nil, &b)
	return b, err
}

var (
	batchID  = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	batchURL = regexp.MustCompile(`/v1/payments/payouts/([A-Za-z0-9_-]{1,64})/?$`)
	payerID  = regexp.MustCompile(`^[A-Z0-9]{13}$`)
)

// receiverOf returns the type and the address of the receiver: of the payout details, else the partner's email.
func receiverOf(t payout.Transfer) (kind, receiver string, err error) {
	var details map[string]any
	if len(t.Details) > 0 {
		if err := json.Unmarshal(t.Details, &details); err != nil {
			return "", "", errors.New("the payout details are not a JSON object")
		}
	}
	receiver = payout.Recipient("paypal", details, t.Email)
	switch {
	case receiver == "":
		return "", "", payout.Refusal{
			Code:    "no_receiver",
			Message: "The partner has no PayPal address. The partner must add one to the payout details.",
		}
	case payerID.MatchString(receiver):
		return "PAYPAL_ID", receiver, nil
	}
	return "EMAIL", receiver, nil
}

func (r *Rail) now() time.Time { return r.config.Clock.Now().Time }
