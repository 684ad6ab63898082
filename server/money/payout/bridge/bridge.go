// Package bridge pays payouts by a service of the merchant's: it gets each payout in a signed payout.submitted, and
// reports the result by the API (decisions, 324).
package bridge

import (
	"context"
	"encoding/json"
	"errors"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/money/payout"
	"rail/server/outbound/webhook"
)

// event is the type of the message.
const event = "payout.submitted"

// Config names the receiver of payouts. Client makes the requests; its dialer decides which addresses are allowed.
type Config struct {
	URL     string
	Secret  string   `json:"-"` // signs the messages
	Methods []string // that the service pays
	Clock   clock.Clock
	Client  *webhook.Client
}

// Rail is a payout.Reporter. It is safe for concurrent use.
type Rail struct{ config Config }

// New returns the rail of a service. It makes no request.
func New(c Config) *Rail { return &Rail{c} }

// Name returns "webhook".
func (r *Rail) Name() string { return string(db.PayoutRailKindWebhook) }

// Methods returns the payout methods that the service pays.
func (r *Rail) Methods() []string { return r.config.Methods }

// Reports marks a rail whose service reports results itself.
func (r *Rail) Reports() {}

// Status is never called: the service reports results itself.
func (r *Rail) Status(context.Context, payout.Transfer) (payout.Status, error) {
	return payout.Status{}, errors.New("the service reports results itself")
}

// message is the body of payout.submitted. Its id is the payout's, in every repetition.
type message struct {
	ID        string     `json:"id"`
	Type      string     `json:"type"`
	CreatedAt clock.Time `json:"created_at"`
	Data      data       `json:"data"`
}

type data struct {
	PayoutID     string          `json:"payout_id"`
	PartnerID    string          `json:"partner_id"`
	PartnerName  string          `json:"partner_name"`
	PartnerEmail string          `json:"partner_email"`
	AmountMinor  int64           `json:"amount_minor"`
	Currency     string          `json:"currency"`
	Method       string          `json:"method"`
	Details      json.RawMessage `json:"details"`
}

// Submit sends the message. An answer with a status of 2xx accepts the payout; any other one, or none, is retried. The
// payout's id is the rail's id for it until a result has another one.
func (r *Rail) Submit(ctx context.Context, t payout.Transfer) (externalID string, err error) {
	m := message{ID: t.ID, Type: event, CreatedAt: r.config.Clock.Now(), Data: data{
		PayoutID:     t.ID,
		PartnerID:    t.PartnerID,
		PartnerName:  t.Name,
		PartnerEmail: t.Email,
		AmountMinor:  t.AmountMinor,
		Currency:     t.Currency,
		Method:       t.Method,
		Details:      t.Details,
	}}
	if t.SubmittedAt != nil {
		m.CreatedAt = *t.SubmittedAt // so that each repetition has the same bytes
	}
	body, err := json.Marshal(m)
	if err != nil {
		return "", err
	}
	outcome := r.config.Client.Send(ctx, webhook.Message{
		URL: r.config.URL, EventID: t.ID, DeliveryID: t.ID, Type: event, Attempt: 1, Body: body,
		Secrets: []string{r.config.Secret},
	}, clock.Wall(r.config.Clock).Now().Time)
	if outcome.Err != "" {
		return "", errors.New(outcome.Err)
	}
	return t.ID, nil
}
