package inbox

import (
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/inbound/processor"
	"rail/server/opt"
	"rail/server/work"
)

// Codes of outcomes, beside those of processor.Reason and the error codes of refusals.
const (
	codeNoPartner   = "no_partner"
	codeRecorded    = "already_recorded"
	codeTest        = "test_event"
	codeLive        = "live_event"
	codeNoCustomer  = "unknown_customer"
	codeNoSale      = "unknown_sale"
	codeMalformed   = "malformed"
	codeNothingLeft = "nothing_left"
	codeError       = "error"
	codeOutside     = "outside_checkout"
	codeRecurs      = "unknown_subscription"
	codeUnavailable = "processor_away"
	codeTwice       = "recorded_twice"

	codeRefundFailed = "refund_failed"
	codeNothingTaken = "nothing_taken"
)

// sentences explain each code, and name the next step if there is one. They serve outcomes without another
// reason.
var sentences = map[string]string{
	string(processor.NotUsed):        "Rail does not use events of this type. There is nothing to do.",
	string(processor.ZeroAmount):     "No money was paid or refunded, so nothing is recorded.",
	string(processor.BindsOnly):      "The event identifies a customer and has no payment. It changed nothing.",
	string(processor.ConnectAccount): "The event belongs to another Stripe account of the platform. Connect that account to record it.",
	string(processor.OptedOut):       "The metadata rail=skip opts out the payment or its customer.",
	string(processor.NoMoneyMoved):   "The event moves no money of the payment, so nothing is recorded.",
	string(processor.NotFinal):       "The money has not moved yet. A later event reports the result.",

	codeNoPartner: "No partner brought the customer. To credit the payment, attach the customer's id at the processor to a " +
		"customer that has a partner, or credit the customer to a partner on the customer's page.",
	codeRecorded:    "The event changes nothing: its content is already recorded.",
	codeTest:        "This is a test event, and the connection accepts only live events. Add a connection for test events to record it.",
	codeLive:        "This is a live event, and the connection accepts only test events. Add a connection for live events to record it.",
	codeNoCustomer:  "The customer is unknown. The event is retried when the customer is created.",
	codeNoSale:      "The payment is not recorded yet. The event is retried when it is.",
	codeMalformed:   "The event lacks a member that Rail needs. Check the event's body, and replay the event after an update of Rail.",
	codeNothingLeft: "Nothing is left of the sale to refund.",
	codeError:       "An error occurred in Rail. Check the server's log and replay the event.",
	codeOutside:     "A checkout or an invoice may report the same payment. The event is retried within a minute.",
	codeRecurs:      "A subscription may begin with the payment. The event is retried within a minute.",
	codeUnavailable: "The processor's API did not answer. Rail retries the request.",
	codeTwice:       "The payment is recorded as two sales. Refund one of them.",

	codeRefundFailed: "The refund did not reach the customer. Restore the commission on this event's page.",
	codeNothingTaken: "The refund did not reach the customer, and Rail had not deducted it from the sale.",
}

// explain gives a reason to an outcome that changed nothing.
func (o *outcome) explain() {
	switch o.status {
	case db.InboxStatusIgnored, db.InboxStatusWaiting, db.InboxStatusFailed:
		if o.reason == "" {
			o.reason = sentences[o.code]
		}
		if o.reason == "" {
			o.reason = "The rules refused the event: " + o.code + "."
		}
	}
}

// outcome is the result of an event.
type outcome struct {
	status                 db.InboxStatus
	code, reason           string
	customer, sale, refund string
	keys                   []string // names that it waits for, or that would explain it
	due                    *clock.Time
}

func ignored(code, reason string) outcome {
	return outcome{status: db.InboxStatusIgnored, code: code, reason: reason}
}

func failed(code, reason string) outcome {
	return outcome{status: db.InboxStatusFailed, code: code, reason: reason}
}

// recorded returns o for an event that changed something.
func (o outcome) recorded() outcome {
	o.status, o.code, o.reason = db.InboxStatusRecorded, "", ""
	return o
}

// of sets the outcome's sale and customer.
func (o outcome) of(s db.Sale) outcome {
	o.sale, o.customer = s.ID, s.CustomerID
	return o
}

// waiting is the outcome of an event that waits for any of the keys.
func waiting(code, reason string, keys ...string) outcome {
	return outcome{status: db.InboxStatusWaiting, code: code, reason: reason, keys: keys}
}

// settle sets when an event is processed next. A waiting event is also retried from time to time: its key may have
// appeared at the same moment, or it has none. After work.MaxWait it is ignored: its payment belongs to another
// program, and so do its refunds. An unexplained event is retried once, for the same reason.
func (o *outcome) settle(e db.InboxEvent, now clock.Time) {
	age := now.Sub(e.CreatedAt.Time)
	switch {
	case o.due != nil:
	case o.status == db.InboxStatusWaiting && age >= work.MaxWait:
		o.status, o.keys = db.InboxStatusIgnored, nil
		o.reason += " It did not arrive within 30 days, so the event is ignored."
	case o.status == db.InboxStatusWaiting:
		o.due = new(now.Plus(min(max(retryAfter, age/2), 12*time.Hour)))
	case len(o.keys) > 0 && age < retryAfter:
		o.due = new(now.Plus(retryAfter))
	}
	// A recorded change stays recorded, however often the event is processed.
	if o.code == codeRecorded && e.ReasonCode == nil && o.sale != "" && o.sale == opt.Value(e.SaleID) {
		*o = o.recorded()
		o.refund = opt.Value(e.RefundID)
	}
	o.explain()
}
