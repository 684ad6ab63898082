// Package railtest is a payment rail in memory: it settles, rejects and returns
// as a test orders.
package railtest

import (
	"context"
	"errors"
	"sync"

	"rail/server/money/payout"
)

// ErrAway is what a rail answers that is away.
var ErrAway = errors.New("railtest: the rail is away")

// Rail is a payment rail in memory. It is safe for concurrent use.
type Rail struct {
	mu        sync.Mutex
	away      bool
	deaf      bool
	refusal   *payout.Refusal
	transfers map[string]payout.Transfer
	statuses  map[string]payout.Status
	submitted map[string]int
}

// New returns a rail that keeps every transfer in flight.
func New() *Rail {
	return &Rail{
		transfers: map[string]payout.Transfer{}, statuses: map[string]payout.Status{}, submitted: map[string]int{},
	}
}

// Name returns "memory".
func (r *Rail) Name() string { return "memory" }

// Methods returns the two methods that it pays.
func (r *Rail) Methods() []string { return []string{"paypal", "wise"} }

// Submit takes a transfer; one that it has already is not taken twice.
func (r *Rail) Submit(_ context.Context, t payout.Transfer) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away {
		return "", ErrAway
	}
	if r.refusal != nil {
		return "", *r.refusal
	}
	r.submitted[t.ID]++
	r.transfers[t.ID] = t
	if r.deaf {
		return "", ErrAway // taken, but the answer is lost
	}
	return "tr_" + t.ID, nil
}

// Status returns how a transfer stands.
func (r *Rail) Status(_ context.Context, t payout.Transfer) (payout.Status, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away {
		return payout.Status{}, ErrAway
	}
	if s, ok := r.statuses[t.ID]; ok {
		return s, nil
	}
	return payout.Status{State: payout.InFlight}, nil
}

// End gives the transfer of a payout its end.
func (r *Rail) End(payoutID string, s payout.Status) { r.set(func() { r.statuses[payoutID] = s }) }

// Refuse makes every submission from now on end in a refusal.
func (r *Rail) Refuse(code, message string) {
	r.set(func() { r.refusal = &payout.Refusal{Code: code, Message: message} })
}

// Accept ends what Refuse began.
func (r *Rail) Accept() { r.set(func() { r.refusal = nil }) }

// Away makes the rail unreachable, or reachable again.
func (r *Rail) Away(away bool) { r.set(func() { r.away = away }) }

// Deaf makes the rail take submissions but lose its answers.
func (r *Rail) Deaf(deaf bool) { r.set(func() { r.deaf = deaf }) }

// Transfer returns what the rail was given for a payout, and how often.
func (r *Rail) Transfer(payoutID string) (t payout.Transfer, times int) {
	r.set(func() { t, times = r.transfers[payoutID], r.submitted[payoutID] })
	return t, times
}

func (r *Rail) set(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}
