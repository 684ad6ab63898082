package paypaltest

import (
	"net/http"
	"slices"
	"time"
)

// unclaimedFor is the time after which unclaimed money returns.
const unclaimedFor = 30 * 24 * time.Hour

// Status is the state of an item.
type Status string

// The states of an item.
const (
	Success   Status = "SUCCESS"
	Failed    Status = "FAILED"
	Pending   Status = "PENDING"
	Unclaimed Status = "UNCLAIMED"
	Returned  Status = "RETURNED"
	OnHold    Status = "ONHOLD"
	Blocked   Status = "BLOCKED"
	Refunded  Status = "REFUNDED"
	Reversed  Status = "REVERSED"
)

// back reports whether the money of an item in this state is with the sender.
func (s Status) back() bool {
	return slices.Contains([]Status{Failed, Returned, Blocked, Refunded, Reversed}, s)
}

// A Step moves an item into a state, some time after the step before or after its acceptance. Code is the name of
// the error that the item then shows; a usual one if empty.
type Step struct {
	After  time.Duration
	Status Status
	Code   string
}

// A Fate is the steps of an item. If it ends unclaimed, the money returns after 30 days.
type Fate []Step

// Becomes returns a fate with one step.
func Becomes(status Status, after time.Duration, code ...string) Fate {
	return Fate(nil).Then(status, after, code...)
}

// Then returns the fate with another step, which is due some time after the last one.
func (f Fate) Then(status Status, after time.Duration, code ...string) Fate {
	step := Step{After: after, Status: status}
	if len(code) > 0 {
		step.Code = code[0]
	}
	return append(slices.Clone(f), step)
}

// itemRequest is an item of a submission.
type itemRequest struct {
	RecipientType   string `json:"recipient_type,omitempty"`
	Amount          Money  `json:"amount"`
	Note            string `json:"note,omitempty"`
	Receiver        string `json:"receiver"`
	SenderItemID    string `json:"sender_item_id,omitempty"`
	RecipientWallet string `json:"recipient_wallet,omitempty"`
	Purpose         string `json:"purpose,omitempty"`
}

// complete sets the members that the header or the API decides.
func (it *itemRequest) complete(header senderHeader) {
	if it.RecipientType == "" {
		it.RecipientType = header.RecipientType
	}
	if it.RecipientWallet == "" {
		it.RecipientWallet = "PAYPAL"
	}
}

// itemError is the error of an item.
type itemError struct {
	Name            string   `json:"name"`
	Message         string   `json:"message"`
	InformationLink string   `json:"information_link"`
	Details         []detail `json:"details"`
	Links           []link   `json:"links"`
}

// An item is a payment to one receiver.
type item struct {
	id, transaction, activity string

	batch     *batch
	request   itemRequest
	minor     int64
	charged   int64 // amount and fee that the balance of the currency lost
	fee       Money
	ownFee    bool
	status    Status
	processed time.Time
	err       *itemError
	history   []Status
	fate      Fate // the steps to come
	version   int  // changes with each state, so that outdated steps are skipped
}

// acceptItem books an item of a batch.
func (s *Server) acceptItem(b *batch, n int, request itemRequest) {
	minor, _ := request.Amount.minor()
	it := &item{
		id:        s.id(13, "item", b.id, n),
		batch:     b,
		request:   request,
		minor:     minor,
		status:    Pending,
		processed: b.created,
		history:   []Status{Pending},
		fate:      s.drawFate(request.SenderItemID),
		ownFee:    s.chance(s.config.Plan.OwnFee, "own fee", request.SenderItemID),
	}
	it.fee = money(s.feeCurrency(it), 0)
	sent := s.sent[request.SenderItemID]
	if request.SenderItemID != "" && len(sent) > 0 && sent[len(sent)-1].batch == b {
		it.fate = Becomes(Failed, time.Minute, "DUPLICATE_ITEM")
	}
	b.items = append(b.items, it)
	s.items[it.id] = it
	s.sent[request.SenderItemID] = append(sent, it)
	if _, limited := s.funds[request.Amount.Currency]; limited {
		it.charged = minor + feeOf(minor)
		s.funds[request.Amount.Currency] -= it.charged
	}
}

func (s *Server) feeCurrency(it *item) string {
	if it.ownFee {
		return it.request.Amount.Currency
	}
	return s.config.FeeCurrency
}

// planStep plans the next step of an item, from a time on.
func (s *Server) planStep(it *item, from time.Time) {
	if len(it.fate) == 0 {
		if it.status != Unclaimed {
			return
		}
		it.fate = Becomes(Returned, unclaimedFor)
	}
	version := it.version
	s.due.plan(from.Add(it.fate[0].After), func(at time.Time) {
		if it.version != version {
			return
		}
		step := it.fate[0]
		it.fate = it.fate[1:]
		s.become(it, step, at, events[step.Status])
		s.planStep(it, at)
	})
}

// usual has the error of an item in a state, unless a step names another one.
var usual = map[Status]string{
	Failed:    "RECEIVER_ACCOUNT_LOCKED",
	Unclaimed: "RECEIVER_UNREGISTERED",
	Returned:  "RECEIVER_UNREGISTERED",
	Blocked:   "RISK_DECLINE",
}

// become moves an item into a state and notifies of an event.
func (s *Server) become(it *item, step Step, at time.Time, event string) {
	it.move(step, at)
	if it.transaction == "" {
		it.transaction, it.activity = s.id(17, "transaction", it.id), s.id(17, "activity", it.id)
	}
	if step.Status != Failed && step.Status != Blocked {
		it.fee = s.fee(it)
	}
	s.credit(it)
	s.notifyItem(it, event, at)
	s.finish(it.batch, at)
}

// move records a state and its error.
func (it *item) move(step Step, at time.Time) {
	it.status, it.processed, it.err = step.Status, at, nil
	it.version++
	it.history = append(it.history, step.Status)
	code := step.Code
	if code == "" {
		code = usual[step.Status]
	}
	if code == "" {
		return
	}
	message := messages[code]
	if message == "" {
		message = code
	}
	it.err = &itemError{
		Name:            code,
		Message:         message,
		InformationLink: errorsPage,
		Details:         []detail{},
		Links:           []link{},
	}
}

// deny fails an item whose batch was not processed. It has no transaction and no fee.
func (s *Server) deny(it *item, at time.Time) {
	it.move(Step{Status: Failed, Code: "RISK_DECLINE"}, at)
	it.fate, it.transaction, it.activity = nil, "", ""
	s.credit(it)
	s.notifyItem(it, "DENIED", at)
}

// fee returns the fee of an item. Amounts are not converted: the figure is the same in any currency.
func (s *Server) fee(it *item) Money { return money(s.feeCurrency(it), feeOf(it.minor)) }

// credit gives the money of an item back to the sender: with the fee if it never arrived.
func (s *Server) credit(it *item) {
	if _, limited := s.funds[it.request.Amount.Currency]; !limited || !it.status.back() {
		return
	}
	if it.status == Refunded || it.status == Reversed {
		it.charged = min(it.charged, it.minor)
	}
	s.funds[it.request.Amount.Currency] += it.charged
	it.charged = 0
}

func (it *item) path() string { return "/v1/payments/payouts-item/" + it.id }

// show returns an item as a poll of its batch shows it, or a poll of the item alone.
func (s *Server) show(it *item, alone bool) map[string]any {
	out := map[string]any{
		"payout_item_id":     it.id,
		"transaction_status": it.status,
		"payout_item_fee":    it.fee,
		"payout_batch_id":    it.batch.id,
		"payout_item":        it.request,
		"time_processed":     stamp(it.processed),
		"links":              []link{s.link("item", it.path())},
	}
	if it.transaction != "" {
		out["transaction_id"], out["activity_id"] = it.transaction, it.activity
	}
	if it.err != nil {
		out["errors"] = it.err
	}
	if alone {
		out["sender_batch_id"] = it.batch.header.SenderBatchID
		out["links"] = []link{s.link("self", it.path()), s.link("batch", it.batch.path())}
	}
	return out
}

func (s *Server) showItem(r *http.Request, _ []byte) answer {
	it := s.items[r.PathValue("id")]
	if it == nil {
		return unknownID()
	}
	return answer{status: http.StatusOK, body: s.show(it, true)}
}

// cancelItem returns the money of an unclaimed item.
func (s *Server) cancelItem(r *http.Request, _ []byte) answer {
	it := s.items[r.PathValue("id")]
	switch {
	case it == nil:
		return unknownID()
	case it.status == Returned:
		return fail(http.StatusBadRequest, "ITEM_ALREADY_CANCELLED")
	case it.status != Unclaimed:
		return fail(http.StatusBadRequest, "ITEM_INCORRECT_STATUS")
	}
	it.fate = nil
	s.become(it, Step{Status: Returned}, s.now(), "CANCELED")
	return answer{status: http.StatusOK, body: s.show(it, true)}
}
