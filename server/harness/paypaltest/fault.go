package paypaltest

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

// Fault is a failure of one request.
type Fault string

// The faults of requests. Go's HTTP client itself repeats a GET whose connection was closed.
const (
	NoFault      Fault = ""
	LoseRequest  Fault = "lose_request"  // closes the connection; the request does nothing
	LoseAnswer   Fault = "lose_answer"   // works, then closes the connection
	FailBefore   Fault = "fail_before"   // answers 500; the request does nothing
	FailAfter    Fault = "fail_after"    // works, then answers 500
	Busy         Fault = "busy"          // answers 503; the request does nothing
	Throttle     Fault = "throttle"      // answers 429 with Retry-After
	ExpireTokens Fault = "expire_tokens" // ends all tokens before their time, so that the answer is 401
)

// Requests has the probability of each fault of a request.
type Requests struct {
	LoseRequest  float64
	LoseAnswer   float64
	FailBefore   float64
	FailAfter    float64
	Busy         float64
	Throttle     float64
	ExpireTokens float64
}

// Plan has the probabilities of events. The seed of the fake decides each of them, independent of the order of
// requests for other batches.
type Plan struct {
	// Submit has the faults of submissions, Other the faults of all other requests.
	Submit, Other Requests
	HideLink      float64 // the answer to a repeated sender_batch_id has no link
	Deny          float64 // a batch is denied
	FailDenies    float64 // a batch whose items all failed ends denied instead of successful
	Delay         float64 // an item takes five minutes to three weeks instead of a minute
	Fail          float64 // an item fails
	Block         float64 // an item is blocked
	Unclaimed     float64 // an item is unclaimed
	Claim         float64 // an unclaimed item is claimed within 30 days
	Hold          float64 // an item is on hold for one to twenty days, and then succeeds or is blocked
	Reverse       float64 // an item that succeeded is reversed within 60 days
	Refund        float64 // an item that succeeded is refunded within 60 days
	OwnFee        float64 // the fee is in the item's currency, not in the account's
	Webhooks      WebhookPlan
}

// Trouble returns a plan in which each fault and each unusual end has the probability p. An unclaimed item is
// claimed in half of the cases.
func Trouble(p float64) Plan {
	requests := Requests{
		LoseRequest:  p,
		LoseAnswer:   p,
		FailBefore:   p,
		FailAfter:    p,
		Busy:         p,
		Throttle:     p,
		ExpireTokens: p,
	}
	return Plan{
		Submit:     requests,
		Other:      requests,
		HideLink:   p,
		Deny:       p,
		FailDenies: 0.5,
		Delay:      p,
		Fail:       p,
		Block:      p,
		Unclaimed:  p,
		Claim:      0.5,
		Hold:       p,
		Reverse:    p,
		Refund:     p,
		OwnFee:     p,
		Webhooks: WebhookPlan{
			Lost:   p,
			Twice:  p,
			Late:   p,
			Last:   p,
			Forged: p,
			Rotate: p,
		},
	}
}

// SetPlan replaces the plan. Accepted items keep their fates.
func (s *Server) SetPlan(p Plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.config.Plan = p
}

// SetSeed replaces the seed of later decisions.
func (s *Server) SetSeed(seed uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.config.Seed = seed
}

// SetName names a sender_batch_id in decisions, so that a seed repeats them for an id that a test cannot choose.
func (s *Server) SetName(senderBatchID, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names[senderBatchID] = name
}

// FailNext gives the next requests of an operation one fault each, in order.
func (s *Server) FailNext(op Operation, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[op] = append(s.faults[op], faults...)
}

// SetFate determines the states of the next item with a sender_item_id.
func (s *Server) SetFate(senderItemID string, f Fate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fates[senderItemID] = f
}

// Move moves the last accepted item with a sender_item_id into a state, instead of its next steps. It reports
// whether there is an item that its batch did not deny.
func (s *Server) Move(senderItemID string, status Status, code ...string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	sent := s.sent[senderItemID]
	if len(sent) == 0 {
		return false
	}
	it := sent[len(sent)-1]
	switch it.batch.status {
	case BatchDenied, BatchCanceled:
		return false
	case BatchPending:
		it.batch.status = BatchProcessing
		s.notifyBatch(it.batch, "PROCESSING", s.now())
	}
	step := Becomes(status, 0, code...)[0]
	it.fate = nil
	s.become(it, step, s.now(), events[status])
	s.planStep(it, s.now())
	return true
}

// EndBatch denies or cancels a batch by its sender_batch_id: at once if it is in progress, else after its
// acceptance.
func (s *Server) EndBatch(senderBatchID string, status BatchStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	if b := s.latest[senderBatchID]; b == nil || !s.end(b, status, s.now()) {
		s.ends[senderBatchID] = status
	}
}

// SetFunds sets the balance of a currency in its smallest unit. Until then it is unlimited.
func (s *Server) SetFunds(currency string, minor int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.funds == nil {
		s.funds = map[string]int64{}
	}
	s.funds[currency] = minor
}

// Funds returns the balance of a currency that SetFunds limited.
func (s *Server) Funds(currency string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.funds[currency]
}

// Refuse refuses submissions, except repeated ones, with an error such as 403 AUTHORIZATION_ERROR. An empty name ends this.
func (s *Server) Refuse(status int, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusal = nil
	if name != "" {
		s.refusal = new(fail(status, name))
	}
}

// afford reports whether the balances hold amounts and fees of the items.
func (s *Server) afford(items []itemRequest) bool {
	need := map[string]int64{}
	for _, it := range items {
		minor, _ := it.Amount.minor()
		need[it.Amount.Currency] += minor + feeOf(minor)
	}
	for currency, minor := range need {
		if have, limited := s.funds[currency]; limited && have < minor {
			return false
		}
	}
	return true
}

// fault returns the fault of a request: the next fault that a test set, or a fault by the plan.
func (s *Server) fault(op Operation, key string) Fault {
	if set := s.faults[op]; len(set) > 0 {
		s.faults[op] = set[1:]
		return set[0]
	}
	p := s.config.Plan.Other
	if op == Submit {
		p = s.config.Plan.Submit
	}
	for _, c := range []struct {
		p     float64
		fault Fault
	}{
		{p.LoseRequest, LoseRequest},
		{p.LoseAnswer, LoseAnswer},
		{p.FailBefore, FailBefore},
		{p.FailAfter, FailAfter},
		{p.Busy, Busy},
		{p.Throttle, Throttle},
		{p.ExpireTokens, ExpireTokens},
	} {
		if s.chance(c.p, string(c.fault), string(op)+" "+s.nameOf(key)) {
			return c.fault
		}
	}
	return NoFault
}

// before returns the answer of a fault that prevents the work.
func (s *Server) before(f Fault) (answer, bool) {
	switch f {
	case LoseRequest:
		return answer{lost: true}, true
	case FailBefore:
		return fail(http.StatusInternalServerError, "INTERNAL_SERVER_ERROR"), true
	case Busy:
		return fail(http.StatusServiceUnavailable, "SERVICE_UNAVAILABLE"), true
	case Throttle:
		return throttled(time.Minute), true
	case ExpireTokens:
		clear(s.tokens)
	}
	return answer{}, false
}

// after replaces the answer of finished work.
func (f Fault) after(a answer) answer {
	switch f {
	case LoseAnswer:
		return answer{lost: true}
	case FailAfter:
		return fail(http.StatusInternalServerError, "INTERNAL_SERVER_ERROR")
	}
	return a
}

func throttled(wait time.Duration) answer {
	a := fail(http.StatusTooManyRequests, "RATE_LIMIT_REACHED")
	a.retryAfter = strconv.Itoa(int(wait.Seconds()))
	return a
}

// drawFate returns the fate that a test set for an item, or a fate by the plan.
func (s *Server) drawFate(id string) Fate {
	if f, ok := s.fates[id]; ok && len(f) > 0 {
		delete(s.fates, id)
		return f
	}
	p, first := s.config.Plan, time.Minute
	if s.chance(p.Delay, "delay", id) {
		first = time.Duration(float64(5*time.Minute) * math.Pow(6000, s.draw("delay for", id))).Truncate(time.Second)
	}
	switch {
	case s.chance(p.Fail, "fail", id):
		codes := []string{"RECEIVER_ACCOUNT_LOCKED", "RECEIVER_ACCOUNT_INVALID", "INSUFFICIENT_FUNDS"}
		return Becomes(Failed, first, codes[int(s.draw("code", id)*float64(len(codes)))])
	case s.chance(p.Block, "block", id):
		return Becomes(Blocked, first)
	case s.chance(p.Unclaimed, "unclaimed", id):
		if !s.chance(p.Claim, "claim", id) {
			return Becomes(Unclaimed, first)
		}
		return s.later(id, Becomes(Unclaimed, first).Then(Success, s.between(time.Hour, 29*24*time.Hour, "claimed", id)))
	case s.chance(p.Hold, "hold", id):
		held := Becomes(OnHold, first)
		release := s.between(24*time.Hour, 20*24*time.Hour, "released", id)
		if s.chance(0.5, "block held", id) {
			return held.Then(Blocked, release)
		}
		return s.later(id, held.Then(Success, release))
	}
	return s.later(id, Becomes(Success, first))
}

// later adds the reversal or refund of a success.
func (s *Server) later(id string, f Fate) Fate {
	p := s.config.Plan
	switch {
	case s.chance(p.Reverse, "reverse", id):
		return f.Then(Reversed, s.between(time.Hour, 60*24*time.Hour, "reversed", id))
	case s.chance(p.Refund, "refund", id):
		return f.Then(Refunded, s.between(time.Hour, 60*24*time.Hour, "refunded", id))
	}
	return f
}
