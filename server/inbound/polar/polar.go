// Package polar reads the events of Polar.
package polar

import (
	"encoding/base64"
	"net/http"

	"rail/server/clock"
	"rail/server/inbound/lenient"
	"rail/server/inbound/processor"
	"rail/server/locale/currency"
	"rail/server/outbound/webhook/verify"
)

// Source implements processor.Source for Polar.
type Source struct{}

// Head requires a recent signature.
func (Source) Head(_ string, header http.Header, now clock.Time) error {
	return processor.StandardHead(header, now)
}

// Verify checks the headers of Standard Webhooks. Polar signs with the secret's text, without decoding it from
// base64.
func (Source) Verify(secret string, header http.Header, body []byte, now clock.Time) error {
	key := base64.StdEncoding.EncodeToString([]byte(secret))
	return verify.Standard(header, body, key, now.Time)
}

// EventID returns the event's id from the header, since bodies have none.
func (Source) EventID(header http.Header) string { return header.Get("webhook-id") }

type event struct {
	Type lenient.Text `json:"type"`
	At   lenient.Text `json:"timestamp"`
	Data object       `json:"data"`
}

// object has the members used of orders, subscriptions and customers.
type object struct {
	ID           lenient.ID   `json:"id"`
	Status       lenient.Text `json:"status"`
	Metadata     lenient.Meta `json:"metadata"`
	CustomerID   lenient.ID   `json:"customer_id"`
	Customer     person       `json:"customer"`
	Discount     lenient.ID   `json:"discount_id"`
	Subscription lenient.ID   `json:"subscription_id"`
	Interval     lenient.Text `json:"recurring_interval"`
	Product      product      `json:"product"`
	ProductID    lenient.ID   `json:"product_id"`

	Currency    lenient.Text `json:"currency"`
	Total       lenient.Int  `json:"total_amount"`
	Due         lenient.Int  `json:"due_amount"`
	Tax         lenient.Int  `json:"tax_amount"`
	Fee         lenient.Int  `json:"platform_fee_amount"`
	Refunded    lenient.Int  `json:"refunded_amount"`
	RefundedTax lenient.Int  `json:"refunded_tax_amount"`

	// Of refunds, whose tax is separate.
	Order  lenient.ID  `json:"order_id"`
	Amount lenient.Int `json:"amount"`

	person // of a customer
}

type person struct {
	Email    lenient.Text `json:"email"`
	Name     lenient.Text `json:"name"`
	External lenient.ID   `json:"external_id"`
}

type product struct {
	Name     lenient.Text `json:"name"`
	Interval lenient.Text `json:"recurring_interval"`
}

// reader reads one event.
type reader struct {
	event
	processor.Reading
}

// readers has the event types that Rail uses.
var readers = processor.Table[*reader]{
	"customer.created":        (*reader).customer,
	"customer.updated":        (*reader).customer,
	"order.paid":              (*reader).paid,
	"order.refunded":          (*reader).refunded,
	"order.updated":           (*reader).updated,
	"refund.created":          (*reader).refund,
	"refund.updated":          (*reader).refund,
	"subscription.active":     (*reader).subscription,
	"subscription.created":    (*reader).subscription,
	"subscription.revoked":    (*reader).subscription,
	"subscription.uncanceled": (*reader).subscription,
	"subscription.updated":    (*reader).subscription,
}

// Events returns the event types that a webhook should be sent, sorted.
func Events() []string { return readers.Types() }

// Read reads an event.
func (Source) Read(body []byte) (processor.Reading, error) {
	r := &reader{}
	if err := lenient.Into(body, &r.event); err != nil {
		return r.Reading, processor.MalformedError{Member: "The body"}
	}
	r.Reading.Type, r.NoMode = string(r.event.Type), true
	r.Reading.At, _ = r.event.At.Time() // without a time, the time of arrival counts
	read := readers[r.Reading.Type]
	switch {
	case r.Reading.Type == "":
		return r.Reading, processor.MalformedError{Member: "type"}
	case read == nil:
		return r.Reading, r.Ignore(processor.NotUsed, "")
	case r.Data.ID == "":
		return r.Reading, processor.MalformedError{Member: "data.id"}
	}
	err := read(r)
	return r.Reading, err
}

// binding returns the object's customer. Polar stores the merchant's id of the customer, too.
func (o *object) binding() processor.Binding {
	b := processor.Binding{
		Customer: string(o.CustomerID), Email: string(o.Customer.Email), Name: string(o.Customer.Name),
		Subscription: string(o.Subscription),
	}
	b.Describe(o.Metadata)
	// A checkout link stores reference_id, but no other parameter, in the metadata of the order.
	b.Visit(o.Metadata.Text("reference_id"))
	if b.Identifier == "" {
		b.Identifier = string(o.Customer.External)
	}
	if o.Discount != "" {
		b.Coupon = []string{string(o.Discount)}
	}
	for _, i := range []lenient.Text{o.Interval, o.Product.Interval} {
		if b.Interval == "" {
			b.Interval = processor.Interval(i)
		}
	}
	return b
}

// due returns the amount charged: the total, changed by the customer's balance. Older orders do not show the
// balance.
func (o *object) due() lenient.Int {
	if o.Due.OK {
		return o.Due
	}
	return o.Total
}

// paid reads an order; a subscription has one each period.
func (r *reader) paid() error {
	o, b, due := r.Data, r.Data.binding(), r.Data.due()
	code, ok := currency.Normal(string(o.Currency))
	switch {
	case processor.Skips(o.Metadata):
		r.Link.Charge = string(o.ID)
		return r.Ignore(processor.OptedOut, "")
	case !ok:
		return processor.MalformedError{Member: "data.currency"}
	case !due.OK || due.N < 0:
		return processor.MalformedError{Member: "data.total_amount"}
	case due.N == 0:
		return r.Binds(b, processor.ZeroAmount, "")
	}
	tax := o.Tax.N
	if due.N < o.Total.N {
		tax = lenient.Share(tax, due.N, o.Total.N)
	}
	r.Payment = &processor.Payment{
		Link: processor.Link{Charge: string(o.ID)}, Binding: b, AmountMinor: due.N, Currency: code, At: r.Reading.At,
		TaxMinor: min(max(tax, 0), due.N), FeeMinor: o.Fee.Within(due.N),
		ProductID: string(o.ProductID), ProductName: string(o.Product.Name), Metadata: processor.Merged(o.Metadata),
	}
	return nil
}

// refunded reads how much of an order was refunded in total; tax is separate.
func (r *reader) refunded() error {
	o := r.Data
	code, ok := currency.Normal(string(o.Currency))
	switch {
	case !ok:
		return processor.MalformedError{Member: "data.currency"}
	case !o.Refunded.OK || o.Refunded.N < 0:
		return processor.MalformedError{Member: "data.refunded_amount"}
	case o.Refunded.N == 0:
		return r.Ignore(processor.ZeroAmount, "")
	}
	due := max(o.due().N, 0)
	level := o.Refunded.N + min(max(o.RefundedTax.N, 0), max(due-o.Refunded.N, 0)) // at most the amount paid
	r.Refund = &processor.Refund{
		Link: processor.Link{Charge: string(o.ID)}, LevelMinor: level, OfMinor: due, Currency: code,
		At: r.Reading.At,
	}
	return nil
}

// updated reads a changed order, of which only refunds count.
func (r *reader) updated() error {
	if r.Data.Refunded.N == 0 {
		return r.Ignore(processor.NoMoneyMoved, "Nothing of the order was refunded. The event order.paid reports its payment.")
	}
	return r.refunded()
}

// refund reads one refund of an order: the order's level is at least its amount.
func (r *reader) refund() error {
	o := r.Data
	code, ok := currency.Normal(string(o.Currency))
	failed := o.Status == "failed" || o.Status == "canceled"
	switch {
	case o.Order == "":
		return processor.MalformedError{Member: "data.order_id"}
	case o.Status == "":
		return processor.MalformedError{Member: "data.status"}
	case o.Status != "succeeded" && !failed:
		return r.Ignore(processor.NotFinal, "The refund is not final. A later event reports its result.")
	case !ok:
		return processor.MalformedError{Member: "data.currency"}
	case !o.Amount.OK || o.Amount.N < 0:
		return processor.MalformedError{Member: "data.amount"}
	case o.Amount.N == 0:
		return r.Ignore(processor.ZeroAmount, "No paid money was refunded.")
	}
	r.Refund = &processor.Refund{
		Link: processor.Link{Charge: string(o.Order)}, ID: string(o.ID), Currency: code, Failed: failed, At: r.Reading.At,
		LevelMinor: min(o.Amount.N, maxMinor) + min(max(o.Tax.N, 0), maxMinor),
	}
	return nil
}

// maxMinor bounds the two parts of an amount, so that their sum is valid.
const maxMinor = 999_999_999_999

// statuses maps the subscription states that change a customer. A canceled subscription continues to its
// period's end; then it is revoked.
var statuses = map[lenient.Text]string{"trialing": "trial", "active": "active"}

func (r *reader) subscription() error {
	b := r.Data.binding()
	b.Subscription, b.Status = string(r.Data.ID), statuses[r.Data.Status]
	if r.Reading.Type == "subscription.revoked" {
		b.Status = "cancelled"
	}
	if processor.Skips(r.Data.Metadata) {
		return r.Ignore(processor.OptedOut, "")
	}
	return r.Binds(b, processor.BindsOnly, "")
}

func (r *reader) customer() error {
	o := r.Data
	o.CustomerID, o.Customer = o.ID, o.person
	b := o.binding()
	b.CustomerOnly = true
	if b.Skip = processor.Skips(o.Metadata); b.Skip {
		return r.Binds(b, processor.OptedOut, "")
	}
	return r.Binds(b, processor.BindsOnly, "")
}
