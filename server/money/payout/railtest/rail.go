// Package railtest has the suite that every payment rail passes, Conform, and a rail in memory that settles, rejects
// and returns transfers on request.
package railtest

import (
	"context"
	"errors"
	"sync"

	"rail/server/money/payout"
)

// ErrDown is the error of an unreachable rail.
var ErrDown = errors.New("railtest: the rail is down")

// Rail is an in-memory payment rail. It is safe for concurrent use.
type Rail struct {
	mu          sync.Mutex
	down        bool
	loseAnswers bool
	loseNext    bool
	refusal     *payout.Refusal
	failure     error
	transfers   map[string]payout.Transfer
	statuses    map[string]payout.Status
	submitted   map[string]int
}

// New returns a rail that keeps every transfer in flight.
func New() *Rail {
	return &Rail{
		transfers: map[string]payout.Transfer{}, statuses: map[string]payout.Status{}, submitted: map[string]int{},
	}
}

// Name returns "memory".
func (r *Rail) Name() string { return "memory" }

// Methods returns the two methods that the rail pays.
func (r *Rail) Methods() []string { return []string{"paypal", "wise"} }

// Submit accepts a transfer; a repeated one is accepted once.
func (r *Rail) Submit(_ context.Context, t payout.Transfer) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down {
		return "", ErrDown
	}
	if r.refusal != nil {
		return "", *r.refusal
	}
	if r.failure != nil && r.submitted[t.ID] == 0 {
		return "", r.failure
	}
	r.submitted[t.ID]++
	r.transfers[t.ID] = t
	if lost := r.loseNext; lost || r.loseAnswers {
		r.loseNext = false
		return "", ErrDown // accepted, but the answer is lost
	}
	return "tr_" + t.ID, nil
}

// Status returns the status of a transfer.
func (r *Rail) Status(_ context.Context, t payout.Transfer) (payout.Status, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down {
		return payout.Status{}, ErrDown
	}
	if s, ok := r.statuses[t.ID]; ok {
		return s, nil
	}
	return payout.Status{State: payout.InFlight}, nil
}

// End sets the final status of a payout's transfer.
func (r *Rail) End(payoutID string, s payout.Status) { r.set(func() { r.statuses[payoutID] = s }) }

// Fail makes submissions fail, except those of transfers that the rail has; nil ends this.
func (r *Rail) Fail(err error) { r.set(func() { r.failure = err }) }

// Refuse makes every later submission a refusal, even of a transfer that the rail has.
func (r *Rail) Refuse(code, message string) {
	r.set(func() { r.refusal = &payout.Refusal{Code: code, Message: message} })
}

// Accept ends the refusals.
func (r *Rail) Accept() { r.set(func() { r.refusal = nil }) }

// SetDown makes the rail unreachable, or reachable again.
func (r *Rail) SetDown(away bool) { r.set(func() { r.down = away }) }

// LoseAnswers makes the rail accept submissions but lose its answers.
func (r *Rail) LoseAnswers(deaf bool) { r.set(func() { r.loseAnswers = deaf }) }

// LoseNext makes the rail accept the next submission but lose its answer.
func (r *Rail) LoseNext() { r.set(func() { r.loseNext = true }) }

// Transfer returns the submitted transfer of a payout, and how often it was submitted.
func (r *Rail) Transfer(payoutID string) (t payout.Transfer, times int) {
	r.set(func() { t, times = r.transfers[payoutID], r.submitted[payoutID] })
	return t, times
}

func (r *Rail) set(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}
