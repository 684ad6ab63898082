package lemonsqueezy

import (
	"strconv"

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
	"order_created":                  (*reader).order,
	"order_refunded":                 (*reader).refunded,
	"subscription_created":           (*reader).subscription,
	"subscription_expired":           (*reader).subscription,
	"subscription_payment_recovered": (*reader).invoice,
	"subscription_payment_refunded":  (*reader).refunded,
	"subscription_payment_success":   (*reader).invoice,
	"subscription_updated":           (*reader).subscription,
}

// Events returns the event types that a webhook should be sent, sorted.
func Events() []string { return readers.Types() }

// Read reads an event.
func (Source) Read(body []byte) (processor.Reading, error) {
	r := &reader{}
	if err := lenient.Into(body, &r.event); err != nil {
		return r.Reading, processor.MalformedError{Member: "The body"}
	}
	mode := r.Meta.Test
	if !mode.OK {
		mode = r.Data.Of.Test
	}
	r.Type, r.Live, r.NoMode = string(r.Meta.Name), mode.OK && !mode.V, !mode.OK
	var dated bool
	if r.At, dated = r.Data.Of.Updated.Time(); !dated {
		r.At, _ = r.Data.Of.Created.Time() // without a time, the time of arrival counts
	}
	read := readers[r.Type]
	switch {
	case r.Type == "":
		return r.Reading, processor.MalformedError{Member: "meta.event_name"}
	case read == nil:
		return r.Reading, r.Ignore(processor.NotUsed, "")
	case r.id() == "":
		return r.Reading, processor.MalformedError{Member: "data.id"}
	}
	err := read(r)
	return r.Reading, err
}

// maxObjectID bounds the ids used in payment names.
const maxObjectID = 100

// name returns Rail's name of an object, "" without a valid id.
func name(kind string, id lenient.ID) string {
	if id == "" || len(id) > maxObjectID {
		return ""
	}
	return kind + ":" + string(id)
}

func (r *reader) id() string { return name("id", r.Data.ID) }

// Names of payments. The first payment of a subscription has two: that of its order, and that of its invoice,
// which does not name the order.
func orderName(id lenient.ID) string   { return name("order", id) }
func invoiceName(id lenient.ID) string { return name("subinv", id) }
func firstName(subscription lenient.ID) string {
	return name("first payment of subscription", subscription)
}

// recursName returns the name of an order that starts a subscription.
func recursName(order lenient.ID) string { return name("first payment by order", order) }

// binding returns the object's customer.
func (r *reader) binding() processor.Binding {
	o := r.Data.Of
	b := processor.Binding{Customer: string(o.Customer), Email: string(o.Email), Name: string(o.Name)}
	b.Describe(r.Meta.Custom)
	return b
}

// failed are the states of orders and invoices without a payment.
var failed = map[lenient.Text]bool{"pending": true, "failed": true, "void": true, "fraudulent": true}

// order reads an order. It lacks the subscription that may start with it.
func (r *reader) order() error {
	o := r.Data.Of
	p, err := r.payment(r.binding(), orderName(r.Data.ID))
	if err != nil || p == nil {
		return err
	}
	p.Recurs = recursName(r.Data.ID)
	p.ProductID, p.ProductName = string(o.Item.Product), string(o.Item.Name)
	r.Payment = p
	return nil
}

// invoice reads a subscription's payment.
func (r *reader) invoice() error {
	b, o := r.binding(), r.Data.Of
	b.Subscription = string(o.Subscription)
	switch o.Reason {
	case "":
		return processor.MalformedError{Member: "data.attributes.billing_reason"}
	case "initial":
		return r.Binds(b, processor.BindsOnly, "The order reports the payment of a subscription's first invoice.")
	}
	p, err := r.payment(b, invoiceName(r.Data.ID))
	r.Payment = p
	return err
}

// payment reads the money of an order or an invoice, or ignores it with a reason.
func (r *reader) payment(b processor.Binding, charge string) (*processor.Payment, error) {
	o := r.Data.Of
	switch {
	case processor.Skips(r.Meta.Custom):
		r.Link.Charge = charge
		return nil, r.Ignore(processor.OptedOut, "")
	case o.Status == "":
		return nil, processor.MalformedError{Member: "data.attributes.status"}
	case failed[o.Status]:
		return nil, r.Ignore(processor.NotUsed, "It is "+string(o.Status)+", and not paid.")
	}
	code, total, err := o.money("total", o.Total)
	if err != nil {
		return nil, err
	}
	if total == 0 {
		return nil, r.Binds(b, processor.ZeroAmount, "")
	}
	_, tax, _ := o.money("tax", o.Tax) // 0 if missing
	p := &processor.Payment{
		Link: processor.Link{Charge: charge}, Binding: b, AmountMinor: total, TaxMinor: min(tax, total), Currency: code,
		At: r.At, Metadata: processor.Merged(r.Meta.Custom),
	}
	if at, ok := o.Created.Time(); ok {
		p.At = at
	}
	return p, nil
}

// money returns the currency, and one of the amounts in it.
func (o *object) money(member string, amount lenient.Int) (string, int64, error) {
	code, ok := currency.Normal(string(o.Currency))
	if !ok {
		return "", 0, processor.MalformedError{Member: "data.attributes.currency"}
	}
	if !amount.OK || amount.N < 0 {
		return "", 0, processor.MalformedError{Member: "data.attributes." + member}
	}
	n, ok := amount.N, true
	if currency.Digits(code) != 2 && n != 0 {
		hundredths, certain := o.hundredths(code)
		if !certain {
			return "", 0, processor.MalformedError{Member: "data.attributes.currency_rate"}
		}
		if hundredths {
			n, ok = processor.FromHundredths(n, code)
		}
	}
	if !ok {
		return "", 0, processor.MalformedError{Member: "data.attributes." + member}
	}
	return code, n, nil
}

// hundredths reports whether amounts of a currency without two decimals are in hundredths nevertheless. Lemon
// Squeezy calls all amounts cents; the total in US cents and its exchange rate decide.
func (o *object) hundredths(code string) (hundredths, ok bool) {
	rate, err := strconv.ParseFloat(string(o.Rate), 64)
	if err != nil || !(rate > 0) || !o.TotalUSD.OK || !o.Total.OK || o.Total.N <= 0 {
		return false, false
	}
	asHundredths := float64(o.Total.N) * rate
	asMinor := asHundredths
	for d := currency.Digits(code); d < 2; d++ {
		asMinor *= 10
	}
	for d := currency.Digits(code); d > 2; d-- {
		asMinor /= 10
	}
	const slack = 2 // the rate and both totals are rounded
	usd := float64(o.TotalUSD.N)
	near := func(to float64) bool { return usd >= to/slack && usd <= to*slack }
	return near(asHundredths), near(asHundredths) != near(asMinor)
}

// refunded reads how much of an order or an invoice was refunded in total.
func (r *reader) refunded() error {
	o := r.Data.Of
	to, err := r.refundOf()
	if err != nil {
		return err
	}
	level := o.Back
	if level.N == 0 && (o.Refunded.V || o.Status == "refunded") { // older events have no amount
		level = o.Total
	}
	code, back, err := o.money("refunded_amount", level)
	if err != nil {
		return err
	}
	if back == 0 {
		return r.Ignore(processor.ZeroAmount, "No paid money was refunded.")
	}
	_, of, _ := o.money("total", o.Total) // without it, the amount is used as it is
	r.Refund = &processor.Refund{Link: to, LevelMinor: back, OfSale: true, OfMinor: of, Currency: code, At: r.At}
	return nil
}

// refundOf names the refunded payment.
func (r *reader) refundOf() (processor.Link, error) {
	o := r.Data.Of
	switch {
	case r.Type == "order_refunded":
		return processor.Link{Charge: orderName(r.Data.ID)}, nil
	case o.Reason == "":
		return processor.Link{}, processor.MalformedError{Member: "data.attributes.billing_reason"}
	case o.Reason != "initial":
		return processor.Link{Charge: invoiceName(r.Data.ID)}, nil
	}
	to := processor.Link{Charge: firstName(o.Subscription)}
	if to.Charge == "" {
		return to, processor.MalformedError{Member: "data.attributes.subscription_id"}
	}
	return to, nil
}

// statuses maps the subscription states that change a customer. A cancelled subscription continues to its
// period's end; then it expires.
var statuses = map[lenient.Text]string{"on_trial": "trial", "active": "active", "expired": "cancelled"}

// subscription reads the state of a subscription, and the order that started it.
func (r *reader) subscription() error {
	b, o := r.binding(), r.Data.Of
	b.Subscription, b.Status = string(r.Data.ID), statuses[o.Status]
	if order := orderName(o.Order); order != "" {
		r.Link = processor.Link{Charge: order, Alias: []string{firstName(r.Data.ID), recursName(o.Order)}}
	}
	if processor.Skips(r.Meta.Custom) {
		return r.Ignore(processor.OptedOut, "")
	}
	return r.Binds(b, processor.BindsOnly, "")
}
