package agent

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"

	"rail/server/clock"
	"rail/server/problem"
	"rail/server/secret"
)

const (
	// Life is how long a request of an agent waits for a person.
	Life = time.Hour
	// maxSealed bounds a sealed order, which is a part of an address.
	maxSealed = 1800
	// where names the place of sealed orders.
	where = "agent order"
)

// ErrSealed means that a text is no order that this server sealed.
var ErrSealed = errors.New("agent: not sealed here")

// Order is a request of an agent that waits for a person. It is not stored: the address that the agent gets contains
// it, sealed, so that no change goes unnoticed (decisions, 432).
type Order struct {
	ID        string    `json:"i"` // the request is done at most once
	OrgID     string    `json:"o"`
	ProgramID string    `json:"p,omitempty"`
	Operation string    `json:"n"`
	Arguments Arguments `json:"a"`
	KeyID     string    `json:"k"`
	Client    string    `json:"c"`
	// AmountMinor is the amount that the agent was told; nil for none.
	AmountMinor *int64 `json:"m,omitempty"`
	Currency    string `json:"u,omitempty"`
	ExpiresAt   int64  `json:"e"` // in Unix seconds
}

// NewOrder returns an order of now. Orders with the same id are done once together.
func NewOrder(id string, now clock.Time) Order {
	return Order{ID: id, ExpiresAt: now.Add(Life).Unix()}
}

// Expired reports whether the order can no longer be confirmed.
func (o Order) Expired(now clock.Time) bool { return now.Unix() >= o.ExpiresAt }

// Expires returns the end of the order's time.
func (o Order) Expires() clock.Time { return clock.At(time.Unix(o.ExpiresAt, 0)) }

// Key returns the order's Idempotency-Key.
func (o Order) Key() string { return "agent " + o.ID }

// Seal returns the order for an address. It refuses one with too many arguments.
func (o Order) Seal(keeper *secret.Keeper) (string, error) {
	raw, err := json.Marshal(o)
	if err != nil {
		return "", err
	}
	sealed, err := keeper.Seal(raw, where)
	if err != nil {
		return "", err
	}
	text := base64.RawURLEncoding.EncodeToString(sealed)
	if len(text) > maxSealed {
		return "", problem.Invalid("arguments", "arguments are too large for an operation that a person confirms: "+
			"its link may have %d characters, and would have %d.", maxSealed, len(text))
	}
	return text, nil
}

// Open returns the order of an address.
func Open(keeper *secret.Keeper, text string) (o Order, err error) {
	if len(text) > maxSealed {
		return o, ErrSealed
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return o, ErrSealed
	}
	raw, err := keeper.Open(sealed, where)
	if err != nil || json.Unmarshal(raw, &o) != nil {
		return Order{}, ErrSealed
	}
	return o, nil
}
