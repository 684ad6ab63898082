package chargebee

import (
	"rail/server/inbound/lenient"
	"rail/server/inbound/processor"
	"rail/server/locale/currency"
)

// reader reads one event.
type reader struct {
	event
	processor.Reading
}

// readers has the event types that Rail uses.
var readers = processor.Table[*reader]{
	"coupon_deleted":           (*reader).coupon,
	"coupon_updated":           (*reader).coupon,
	"credit_note_created":      (*reader).creditNote,
	"credit_note_deleted":      (*reader).creditNote,
	"credit_note_updated":      (*reader).creditNote,
	"customer_changed":         (*reader).customer,
	"customer_created":         (*reader).customer,
	"payment_refunded":         (*reader).refund,
	"payment_succeeded":        (*reader).payment,
	"refund_initiated":         (*reader).refund,
	"subscription_activated":   (*reader).subscription,
	"subscription_cancelled":   (*reader).subscription,
	"subscription_changed":     (*reader).subscription,
	"subscription_created":     (*reader).subscription,
	"subscription_deleted":     (*reader).subscription,
	"subscription_reactivated": (*reader).subscription,
	"subscription_started":     (*reader).subscription,
	"transaction_created":      (*reader).refund,
	"transaction_deleted":      (*reader).refund,
	"transaction_updated":      (*reader).refund,
}

// Events returns the event types that a webhook should be sent, sorted.
func Events() []string { return readers.Types() }

// Read reads an event.
func (Source) Read(body []byte) (processor.Reading, error) {
	r := &reader{}
	if err := lenient.Into(body, &r.event); err != nil {
		return r.Reading, processor.MalformedError{Member: "The body"}
	}
	r.Reading.ID, r.Reading.Type, r.NoMode = string(r.event.ID), string(r.event.Type), true
	r.Reading.At, _ = r.event.At.Time() // without a time, the time of arrival counts
	read := readers[r.Reading.Type]
	switch {
	case r.Reading.ID == "":
		return r.Reading, processor.MalformedError{Member: "id"}
	case r.Reading.Type == "":
		return r.Reading, processor.MalformedError{Member: "event_type"}
	case read == nil:
		return r.Reading, r.Ignore(processor.NotUsed, "")
	}
	err := read(r)
	return r.Reading, err
}

// first returns the first id that is not empty.
func first(of ...lenient.ID) string {
	for _, id := range of {
		if id != "" {
			return string(id)
		}
	}
	return ""
}

// minor returns an amount in Rail's minor units. Chargebee uses whole units for currencies without decimals, and
// hundredths for all others.
func minor(amount lenient.Int, code string) (int64, bool) {
	if !amount.OK || amount.N < 0 {
		return 0, false
	}
	if currency.Digits(code) == 0 {
		return amount.N, true
	}
	return processor.FromHundredths(amount.N, code)
}

// money returns the transaction's amount and currency.
func (r *reader) money() (int64, string, error) {
	t := r.Of.Transaction
	text := t.Currency
	if text == "" {
		text = r.Of.Invoice.Currency // in v1, a site has one currency
	}
	code, ok := currency.Normal(string(text))
	if !ok {
		return 0, "", processor.MalformedError{Member: "content.transaction.currency_code"}
	}
	n, ok := minor(t.Amount, code)
	if !ok {
		return 0, "", processor.MalformedError{Member: "content.transaction.amount"}
	}
	return n, code, nil
}
