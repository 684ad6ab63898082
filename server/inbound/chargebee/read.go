package chargebee

import (
	"slices"
	"strings"

	"rail/server/currency"
	"rail/server/inbound/loose"
	"rail/server/inbound/processor"
)

// A reader reads one event.
type reader struct {
	event
	processor.Reading
}

// readers has the types of events that say something to Rail.
var readers = processor.Table[*reader]{
	"coupon_deleted":           (*reader).coupon,
	"coupon_updated":           (*reader).coupon,
	"customer_changed":         (*reader).customer,
	"customer_created":         (*reader).customer,
	"payment_refunded":         (*reader).refund,
	"payment_succeeded":        (*reader).payment,
	"subscription_activated":   (*reader).subscription,
	"subscription_cancelled":   (*reader).subscription,
	"subscription_changed":     (*reader).subscription,
	"subscription_created":     (*reader).subscription,
	"subscription_deleted":     (*reader).subscription,
	"subscription_reactivated": (*reader).subscription,
	"subscription_started":     (*reader).subscription,
	"transaction_created":      (*reader).refund,
	"transaction_updated":      (*reader).refund,
}

// Events are the types that a webhook should be sent, in order.
func Events() []string { return readers.Types() }

// Read returns what an event says.
func (Source) Read(body []byte) (processor.Reading, error) {
	r := &reader{}
	if err := loose.Into(body, &r.event); err != nil {
		return r.Reading, processor.MalformedError{Member: "The body"}
	}
	r.Reading.ID, r.Reading.Type, r.NoMode = string(r.event.ID), string(r.event.Type), true
	r.Reading.At, _ = r.event.At.Time() // without one, it is when the event came
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

// metas are what the merchant wrote, the custom fields first.
func (m *marked) metas() []loose.Meta {
	return []loose.Meta{
		{"rail_click": string(m.Click), "rail_customer": string(m.Merchant), "rail": string(m.Switch)}, m.Meta,
	}
}

// metas are those of the subscription and of the customer, the nearest to the payment
// first.
func (r *reader) metas() []loose.Meta {
	return append(r.Of.Subscription.metas(), r.Of.Customer.metas()...)
}

// first returns the first id that is there.
func first(of ...loose.ID) string {
	for _, id := range of {
		if id != "" {
			return string(id)
		}
	}
	return ""
}

// who returns whose the event's objects are.
func (r *reader) who() processor.Binding {
	t, in, k, s := r.Of.Transaction, r.Of.Invoice, r.Of.Customer, r.Of.Subscription
	b := processor.Binding{
		Customer: first(k.ID, t.Customer, s.Customer, in.Customer), Email: string(k.Email),
		Name:         loose.Clean(strings.TrimSpace(string(k.First + " " + k.Last))),
		Subscription: first(s.ID, t.Subscription, in.Subscription), Interval: processor.Interval(s.Interval),
		Skip: processor.Skips(k.metas()...),
	}
	b.Describe(r.metas()...)
	r.redeem(&b)
	return b
}

// mostCoupons bounds the coupons of one event, each of which is looked up.
const mostCoupons = 50

// redeem adds the coupons of the invoice and of the subscription. A code of a set is
// more telling than its coupon, which many codes share.
func (r *reader) redeem(b *processor.Binding) {
	var codes, coupons []loose.ID
	for _, d := range r.Of.Invoice.Discounts {
		if strings.Contains(string(d.Type+d.Entity), "coupon") {
			codes, coupons = append(codes, d.Code), append(coupons, d.ID)
		}
	}
	for _, c := range r.Of.Subscription.Coupons {
		codes, coupons = append(codes, c.Code), append(coupons, c.ID)
	}
	for _, id := range append(append(codes, coupons...), r.Of.Subscription.Coupon) {
		if id != "" && len(b.Coupon) < mostCoupons && !slices.Contains(b.Coupon, string(id)) {
			b.Coupon = append(b.Coupon, string(id))
		}
	}
}

// minor returns an amount in Rail's minor units. Chargebee's are in those of
// currencies without decimals, and in hundredths of all others.
func minor(given loose.Int, code string) (int64, bool) {
	if !given.OK || given.N < 0 {
		return 0, false
	}
	if currency.Digits(code) == 0 {
		return given.N, true
	}
	return processor.FromHundredths(given.N, code)
}

// money returns the transaction's amount and currency.
func (r *reader) money() (int64, string, error) {
	t := r.Of.Transaction
	given := t.Currency
	if given == "" {
		given = r.Of.Invoice.Currency // v1 had one for the whole site
	}
	code, ok := currency.Normal(string(given))
	if !ok {
		return 0, "", processor.MalformedError{Member: "content.transaction.currency_code"}
	}
	n, ok := minor(t.Amount, code)
	if !ok {
		return 0, "", processor.MalformedError{Member: "content.transaction.amount"}
	}
	return n, code, nil
}

// payment reads money that was collected. An invoice may be paid by several.
func (r *reader) payment() error {
	t, b := r.Of.Transaction, r.who()
	switch {
	case t.ID == "":
		return processor.MalformedError{Member: "content.transaction.id"}
	case processor.Skips(r.metas()...):
		r.Link.Charge = string(t.ID)
		return r.Ignore(processor.OptedOut, "")
	case t.Status == "":
		return processor.MalformedError{Member: "content.transaction.status"}
	case t.Type != "payment" && t.Type != "" || t.Status != "success":
		return r.Binds(b, processor.NotUsed, "The transaction is no payment that succeeded.")
	}
	amount, code, err := r.money()
	if err != nil {
		return err
	}
	if amount == 0 {
		return r.Binds(b, processor.ZeroAmount, "")
	}
	r.Payment = &processor.Payment{
		Link: processor.Link{Charge: string(t.ID)}, Binding: b, AmountMinor: amount, Currency: code, At: r.Reading.At,
		TaxMinor: min(r.tax(code), amount), Metadata: processor.Merged(r.metas()...),
	}
	if at, ok := t.Date.Time(); ok {
		r.Payment.At = at
	}
	r.Payment.ProductID, r.Payment.ProductName = r.Of.Invoice.plan()
	return nil
}

// tax returns the part of the invoice's tax that the transaction paid.
func (r *reader) tax(code string) int64 {
	in, t := r.Of.Invoice, r.Of.Transaction
	total := in.Total
	if !total.OK {
		total = in.Amount
	}
	if in.Currency != "" && !strings.EqualFold(string(in.Currency), code) {
		return 0
	}
	n, _ := minor(loose.Int{N: loose.Share(in.Tax.N, min(t.Amount.N, total.N), total.N), OK: true}, code)
	return max(n, 0)
}

// plan returns the plan that an invoice is of; nothing if it is of several.
func (in *invoice) plan() (id, name string) {
	for _, l := range in.Lines {
		if l.Type != "plan" && l.Type != "plan_item_price" || l.ID == "" {
			continue
		}
		if id != "" && string(l.ID) != id {
			return "", ""
		}
		id, name = string(l.ID), string(l.Name)
	}
	return id, name
}

// refund reads money that went back: refunds, and reversals, of which a chargeback is
// one. Each is a transaction of its own, whichever event shows it.
func (r *reader) refund() error {
	t := r.Of.Transaction
	failed := t.Status == "late_failure"
	switch {
	case t.ID == "":
		return processor.MalformedError{Member: "content.transaction.id"}
	case t.Type == "":
		return processor.MalformedError{Member: "content.transaction.type"}
	case t.Type == "payment" && failed:
		return r.bounced()
	case t.Type != "refund" && t.Type != "payment_reversal":
		return r.Ignore(processor.NotUsed, "payment_succeeded brings what is paid.")
	case t.Status == "":
		return processor.MalformedError{Member: "content.transaction.status"}
	case t.Status != "success" && !failed:
		return r.Ignore(processor.NotUsed, "The refund is not finished.")
	}
	amount, code, err := r.money()
	if err != nil {
		return err
	}
	to := r.paid()
	switch {
	case to == "":
		return processor.MalformedError{Member: "content.transaction.refunded_txn_id"}
	case amount == 0:
		return r.Ignore(processor.ZeroAmount, "Nothing that was paid came back.")
	}
	r.Refund = &processor.Refund{
		Link: processor.Link{Charge: to}, ID: string(t.ID), Single: true, LevelMinor: amount, Currency: code,
		Failed: failed, At: r.Reading.At,
	}
	return nil
}

// bounced takes back a payment that had succeeded and failed days later, as a direct
// debit may. Its reversal may come as a transaction, too, and finds nothing left.
func (r *reader) bounced() error {
	t := r.Of.Transaction
	_, code, err := r.money()
	if err != nil {
		return err
	}
	r.Refund = &processor.Refund{
		Link: processor.Link{Charge: string(t.ID)}, ID: first(t.Reversal, t.ID), Single: true, Currency: code,
		At: r.Reading.At,
	}
	return nil
}

// paid returns the payment that a refund is of: as it says itself, else the one that
// its invoice had.
func (r *reader) paid() string {
	t, in := r.Of.Transaction, r.Of.Invoice
	if id := first(t.Refunded, t.Reference); id != "" {
		return id
	}
	var one loose.ID
	for _, l := range slices.Concat(in.Linked, in.Payments) {
		switch {
		case l.Type != "" && l.Type != "payment" || l.Status != "" && l.Status != "success" || l.ID == "":
		case one != "" && one != l.ID:
			return ""
		default:
			one = l.ID
		}
	}
	return string(one)
}

// statuses are those of subscriptions that change a customer. One that is not renewed
// runs on to its term's end; then it is cancelled.
var statuses = map[loose.Text]string{"in_trial": "trial", "active": "active", "cancelled": "cancelled"}

func (r *reader) subscription() error {
	b := r.who()
	b.Status = statuses[r.Of.Subscription.Status]
	if r.Reading.Type == "subscription_deleted" {
		b.Status = "cancelled"
	}
	switch {
	case r.Of.Subscription.ID == "":
		return processor.MalformedError{Member: "content.subscription.id"}
	case processor.Skips(r.metas()...):
		return r.Ignore(processor.OptedOut, "")
	}
	return r.Binds(b, processor.BindsOnly, "")
}

func (r *reader) customer() error {
	b := r.who()
	b.Itself = true
	switch {
	case r.Of.Customer.ID == "":
		return processor.MalformedError{Member: "content.customer.id"}
	case b.Skip:
		return r.Binds(b, processor.OptedOut, "")
	}
	return r.Binds(b, processor.BindsOnly, "")
}

// coupon reads whether a coupon may be used. Its id is what customers type.
func (r *reader) coupon() error {
	c, deleted := r.Of.Coupon, r.Reading.Type == "coupon_deleted"
	switch {
	case c.ID == "":
		return processor.MalformedError{Member: "content.coupon.id"}
	case c.Status == "" && !deleted:
		return processor.MalformedError{Member: "content.coupon.status"}
	}
	r.Coupon = &processor.Coupon{ID: string(c.ID), Code: string(c.ID), Active: c.Status == "active" && !deleted}
	return nil
}
