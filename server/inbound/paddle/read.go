package paddle

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
	"adjustment.created":     (*reader).adjustment,
	"adjustment.updated":     (*reader).adjustment,
	"customer.created":       (*reader).customer,
	"customer.updated":       (*reader).customer,
	"discount.updated":       (*reader).discount,
	"subscription.activated": (*reader).subscription,
	"subscription.canceled":  (*reader).subscription,
	"subscription.created":   (*reader).subscription,
	"subscription.trialing":  (*reader).subscription,
	"subscription.updated":   (*reader).subscription,
	"transaction.completed":  (*reader).transaction,
}

// Events returns the event types that a notification destination should be sent, sorted.
func Events() []string { return readers.Types() }

// Read reads an event.
func (Source) Read(body []byte) (processor.Reading, error) {
	r := &reader{}
	if err := lenient.Into(body, &r.event); err != nil {
		return r.Reading, processor.MalformedError{Member: "The body"}
	}
	r.Reading.ID, r.Reading.Type, r.Reading.NoMode = string(r.event.ID), string(r.event.Type), true
	at, dated := r.event.At.Time()
	r.Reading.At = at
	read := readers[r.Reading.Type]
	switch {
	case r.Reading.ID == "":
		return r.Reading, processor.MalformedError{Member: "event_id"}
	case r.Reading.Type == "":
		return r.Reading, processor.MalformedError{Member: "event_type"}
	case read == nil:
		return r.Reading, r.Ignore(processor.NotUsed, "")
	case !dated:
		return r.Reading, processor.MalformedError{Member: "occurred_at"}
	case r.Data.ID == "":
		return r.Reading, processor.MalformedError{Member: "data.id"}
	}
	err := read(r)
	return r.Reading, err
}

// binding returns the object's customer.
func (o *object) binding() processor.Binding {
	b := processor.Binding{Customer: string(o.Customer), Subscription: string(o.Subscription)}
	b.Describe(o.Custom)
	if o.Discount != "" {
		b.Coupon = []string{string(o.Discount)}
	}
	b.Interval = processor.Interval(o.Cycle.Interval)
	for _, i := range o.Items {
		if b.Interval == "" {
			b.Interval = processor.Interval(i.Price.Cycle.Interval)
		}
	}
	return b
}

// transaction reads a payment: the amount charged after discounts and credit.
func (r *reader) transaction() error {
	o, t := r.Data, r.Data.Details.Totals
	b := o.binding()
	code, ok := currency.Normal(string(o.Currency))
	switch {
	case processor.Skips(o.Custom):
		r.Link.Charge = string(o.ID)
		return r.Ignore(processor.OptedOut, "")
	case !ok:
		return processor.MalformedError{Member: "data.currency_code"}
	case !t.Grand.OK || t.Grand.N < 0:
		return processor.MalformedError{Member: "data.details.totals.grand_total"}
	case t.Grand.N == 0:
		return r.Binds(b, processor.ZeroAmount, "")
	}
	tax := t.Tax.N
	if t.Total.OK && t.Grand.N < t.Total.N { // credit paid the rest
		tax = lenient.Share(tax, t.Grand.N, t.Total.N)
	}
	r.Payment = &processor.Payment{
		Link: processor.Link{Charge: string(o.ID)}, Binding: b, AmountMinor: t.Grand.N, Currency: code, At: r.Reading.At,
		TaxMinor: min(max(tax, 0), t.Grand.N), FeeMinor: t.Fee.Within(t.Grand.N), Metadata: processor.Merged(o.Custom),
	}
	r.Payment.ProductID, r.Payment.ProductName = product(o.Details.Lines)
	return nil
}

// product returns the product of all lines; nothing if there are several.
func product(lines []purchased) (id, name string) {
	for _, l := range lines {
		if id != "" && string(l.Product.ID) != id {
			return "", ""
		}
		id, name = string(l.Product.ID), string(l.Product.Name)
	}
	return id, name
}

// disputes maps actions of adjustments to states of a dispute. Paddle takes the money of a chargeback at once,
// and returns it if it wins.
var disputes = map[lenient.Text]string{
	"chargeback": processor.DisputeLost, "chargeback_reverse": processor.DisputeWon,
	"chargeback_warning": processor.DisputeOpen, "chargeback_warning_reverse": processor.DisputeWithdrawn,
}

// reversals maps states of a dispute to those after the adjustment is reversed.
var reversals = map[string]string{
	processor.DisputeLost: processor.DisputeWon, processor.DisputeOpen: processor.DisputeWithdrawn,
}

// adjustment reads refunded money, or money returned to the merchant.
func (r *reader) adjustment() error {
	o := r.Data
	code, ok := currency.Normal(string(o.Currency))
	to := processor.Link{Charge: string(o.Transaction)}
	switch {
	case o.Action != "refund" && disputes[o.Action] == "":
		return r.Ignore(processor.NoMoneyMoved, "Credit stays on the customer's account, and reduces the next payment.")
	case o.Status == "rejected":
		return r.Ignore(processor.NoMoneyMoved, "Paddle rejected the adjustment, so no money moves.")
	case o.Status != "approved" && o.Status != "reversed":
		return r.Ignore(processor.NotFinal, "The adjustment is not approved yet. A later event reports the decision.")
	case to.Charge == "":
		return processor.MalformedError{Member: "data.transaction_id"}
	case !ok:
		return processor.MalformedError{Member: "data.currency_code"}
	case !o.Totals.Total.OK || o.Totals.Total.N < 0:
		return processor.MalformedError{Member: "data.totals.total"}
	case o.Totals.Subtotal.OK && o.Totals.Subtotal.N == 0 || o.Totals.Total.N == 0:
		return r.Ignore(processor.ZeroAmount, "Only tax was refunded.")
	case o.Action == "refund":
		r.Refund = &processor.Refund{
			Link: to, ID: string(o.ID), Single: true, LevelMinor: o.Totals.Total.N, Currency: code, At: r.Reading.At,
			Undone: o.Status == "reversed",
		}
		// Its total lacks the money of earlier adjustments, and Rail ignores those of tax alone.
		if o.Type == "full" {
			r.Refund.LevelMinor = 0
		}
		return nil
	}
	status := disputes[o.Action]
	if over := reversals[status]; over != "" && o.Status == "reversed" {
		status = over
	}
	r.Dispute = &processor.Dispute{
		// A warning and its chargeback share one transaction and one dispute.
		Link: to, ID: "dispute of " + to.Charge, Status: status, Detail: string(o.Action),
		Taking: string(o.ID), Reversal: string(o.ID),
		AmountMinor: o.Totals.Total.N, Currency: code, At: r.Reading.At,
	}
	return nil
}

// statuses maps the subscription states that change a customer.
var statuses = map[lenient.Text]string{"trialing": "trial", "active": "active", "canceled": "cancelled"}

func (r *reader) subscription() error {
	b := r.Data.binding()
	b.Subscription, b.Status = string(r.Data.ID), statuses[r.Data.Status]
	if processor.Skips(r.Data.Custom) {
		return r.Ignore(processor.OptedOut, "")
	}
	return r.Binds(b, processor.BindsOnly, "")
}

func (r *reader) customer() error {
	b := r.Data.binding()
	b.Customer, b.Email, b.Name = string(r.Data.ID), string(r.Data.Email), string(r.Data.Name)
	b.CustomerOnly, b.Skip = true, processor.Skips(r.Data.Custom)
	if b.Skip {
		return r.Binds(b, processor.OptedOut, "")
	}
	return r.Binds(b, processor.BindsOnly, "")
}

func (r *reader) discount() error {
	if r.Data.Status == "" {
		return processor.MalformedError{Member: "data.status"}
	}
	r.Coupon = &processor.Coupon{
		ID: string(r.Data.ID), Code: string(r.Data.Code), Active: r.Data.Status == "active",
	}
	return nil
}
