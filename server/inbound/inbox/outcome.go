package inbox

import (
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/opt"
)

// The codes of outcomes, beside those that an event itself gives (processor.Reason)
// and the error codes of refusals.
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
	codeAway        = "processor_away"
	codeTwice       = "recorded_twice"

	codeRefundFailed = "refund_failed"
)

// outcome is what became of an event.
type outcome struct {
	status                 db.InboxStatus
	code, reason           string
	customer, sale, refund string
	keys                   []string // what it waits for, or what would explain it
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

// of names the sale, and its customer, that the outcome is about.
func (o outcome) of(s db.Sale) outcome {
	o.sale, o.customer = s.ID, s.CustomerID
	return o
}

// waiting is the outcome of an event that needs what the keys name.
func waiting(code, reason string, keys ...string) outcome {
	return outcome{status: db.InboxStatusWaiting, code: code, reason: reason, keys: keys}
}

// settle says when an event is worked next. One that waits is tried now and then, in
// case what it waits for appeared in the same moment. After 30 days it is ignored: a
// payment that is still not recorded was never the program's, nor is what came back of it.
// One that would be explained is looked at once more, for the same reason.
func (o *outcome) settle(e db.InboxEvent, now clock.Time) {
	age := now.Sub(e.CreatedAt.Time)
	switch {
	case o.due != nil || len(o.keys) == 0:
	case o.status == db.InboxStatusWaiting && age >= waitDays*24*time.Hour:
		o.status, o.keys = db.InboxStatusIgnored, nil
		o.reason += " It did not come within 30 days: it is none of the program's."
	case o.status == db.InboxStatusWaiting:
		o.due = new(now.Plus(min(max(again, age/2), 12*time.Hour)))
	case age < again:
		o.due = new(now.Plus(again))
	}
	// What it recorded stays recorded, however often it is worked.
	if o.code == codeRecorded && e.ReasonCode == nil && o.sale != "" && o.sale == opt.Value(e.SaleID) {
		*o = o.recorded()
		o.refund = opt.Value(e.RefundID)
	}
}

// text returns nil for an absent text.
func text(s string) *string { return opt.OrNil(s) }
