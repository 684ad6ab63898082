package stripe

import (
	"slices"
	"strings"

	"rail/server/inbound/lenient"
	"rail/server/inbound/processor"
)

// reader reads one event.
type reader struct {
	event
	processor.Reading
}

// readers has the event types that Rail uses.
var readers = processor.Table[*reader]{
	"charge.captured":                          (*reader).charge,
	"charge.dispute.closed":                    (*reader).dispute,
	"charge.dispute.created":                   (*reader).dispute,
	"charge.dispute.funds_reinstated":          (*reader).dispute,
	"charge.dispute.funds_withdrawn":           (*reader).dispute,
	"charge.dispute.updated":                   (*reader).dispute,
	"charge.refund.updated":                    (*reader).refund,
	"charge.refunded":                          (*reader).refunded,
	"charge.succeeded":                         (*reader).charge,
	"checkout.session.async_payment_succeeded": (*reader).session,
	"checkout.session.completed":               (*reader).session,
	"credit_note.created":                      (*reader).creditNote,
	"credit_note.updated":                      (*reader).creditNote,
	"credit_note.voided":                       (*reader).creditNote,
	"coupon.deleted":                           (*reader).couponDeleted,
	"customer.created":                         (*reader).customer,
	"customer.discount.created":                (*reader).discount,
	"customer.discount.updated":                (*reader).discount,
	"customer.subscription.created":            (*reader).subscription,
	"customer.subscription.deleted":            (*reader).subscription,
	"customer.subscription.resumed":            (*reader).subscription,
	"customer.subscription.updated":            (*reader).subscription,
	"customer.updated":                         (*reader).customer,
	"invoice.paid":                             (*reader).invoice,
	"invoice.payment_succeeded":                (*reader).invoice,
	"invoice_payment.paid":                     (*reader).invoicePayment,
	"payment_intent.succeeded":                 (*reader).intent,
	"promotion_code.created":                   (*reader).promotionCode,
	"promotion_code.updated":                   (*reader).promotionCode,
	"radar.early_fraud_warning.created":        (*reader).fraudWarning,
	"radar.early_fraud_warning.updated":        (*reader).fraudWarning,
	"refund.created":                           (*reader).refund,
	"refund.failed":                            (*reader).refund,
	"refund.updated":                           (*reader).refund,
}

// Events returns the event types that an endpoint should be sent, sorted.
func Events() []string { return readers.Types() }

// Read reads an event.
func (Source) Read(body []byte) (processor.Reading, error) { return Read(body) }

// Read is Source.Read.
func Read(body []byte) (processor.Reading, error) {
	r := &reader{}
	if err := lenient.Into(body, &r.event); err != nil {
		return r.Reading, processor.MalformedError{Member: "The body"}
	}
	r.Reading.ID, r.Reading.Type = string(r.event.ID), string(r.event.Type)
	r.Reading.Account, r.Reading.Live, r.NoMode = string(r.event.Account), r.event.Live.V, !r.event.Live.OK
	at, dated := r.Created.Time()
	r.At = at
	read := readers[r.Reading.Type]
	switch {
	case r.Reading.ID == "":
		return r.Reading, processor.MalformedError{Member: "id"}
	case r.Reading.Type == "":
		return r.Reading, processor.MalformedError{Member: "type"}
	case r.Reading.Account != "":
		return r.Reading, r.Ignore(processor.ConnectAccount, "The event belongs to a connected account: connect that account.")
	case read == nil || strings.HasPrefix(string(r.Object), "v2."):
		return r.Reading, r.Ignore(processor.NotUsed, "")
	case !r.event.Live.OK:
		return r.Reading, processor.MalformedError{Member: "livemode"}
	case !dated:
		return r.Reading, processor.MalformedError{Member: "created"}
	}
	err := read(r)
	return r.Reading, err
}

// object decodes the event's object.
func (r *reader) object(v any) error {
	if len(r.Data.Object) == 0 || r.Data.Object[0] != '{' || lenient.Into(r.Data.Object, v) != nil {
		return processor.MalformedError{Member: "data.object"}
	}
	return nil
}

// money returns an amount and its currency in Rail's form. name is the object's.
func money(name, member string, amount lenient.Int, currency lenient.Text) (int64, string, error) {
	upper, ok := code(currency)
	if !ok {
		return 0, "", processor.MalformedError{Member: name + ".currency"}
	}
	n, ok := minor(amount, upper)
	if !ok {
		return 0, "", processor.MalformedError{Member: name + "." + member}
	}
	return n, upper, nil
}

// maxAliases bounds the other names of a payment, each of which is locked; Stripe's own have four. An event that
// uses a dropped name waits with a reason.
const maxAliases = 20

// link names a payment by its ids; the first becomes the sale's.
func link(ids ...lenient.ID) processor.Link {
	var l processor.Link
	for _, id := range ids {
		switch s := string(id); {
		case s == "" || s == l.Charge || slices.Contains(l.Alias, s): // at most maxAliases
		case l.Charge == "":
			l.Charge = s
		case len(l.Alias) < maxAliases:
			l.Alias = append(l.Alias, s)
		}
	}
	return l
}

// first returns the first value that is not empty.
func first[S ~string](of ...S) S {
	for _, s := range of {
		if s != "" {
			return s
		}
	}
	return ""
}
