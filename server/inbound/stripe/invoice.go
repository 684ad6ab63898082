package stripe

import (
	"rail/server/inbound/lenient"
	"rail/server/inbound/processor"
)

// invoice reads a paid invoice, which reports the money of subscriptions, and of checkouts that create invoices.
func (r *reader) invoice() error {
	var in invoice
	if err := r.object(&in); err != nil {
		return err
	}
	if in.ID == "" {
		return processor.MalformedError{Member: "invoice.id"}
	}
	r.Link = in.link()
	in.AmountPaid = in.paid()
	b := in.binding()
	switch {
	case in.Status != "" && in.Status != "paid":
		return r.Binds(b, processor.NotUsed, "The invoice is not fully paid.")
	case b.Skip || in.skips():
		return r.Ignore(processor.OptedOut, "")
	case b.Customer == "":
		return processor.MalformedError{Member: "invoice.customer"}
	}
	paid, currency, err := money("invoice", "amount_paid", in.AmountPaid, in.Currency)
	if err != nil {
		return err
	}
	if paid == 0 {
		return r.Binds(b, processor.ZeroAmount, "")
	}
	r.Payment = &processor.Payment{
		Link: r.Link, Binding: b, AmountMinor: paid, Currency: currency, At: r.At, Intent: in.intent(),
		TaxMinor: min(paid, nearest(in.tax(), currency)), Metadata: in.metadata(), Bought: in.bought(),
	}
	if at, ok := in.Transitions.PaidAt.Time(); ok {
		r.Payment.At = at
	}
	for _, c := range []charge{in.Charge.Object, in.PaymentIntent.Object.Latest.Object} {
		if r.Payment.FeeMinor == nil {
			r.Payment.FeeMinor = c.fee(r.Payment, in.AmountPaid)
		}
	}
	describeProducts(r.Payment, in.Lines)
	r.Link = processor.Link{}
	return nil
}

// paid returns the amount paid of the invoice. Until basil, amount_paid excludes payments outside Stripe, which
// then pay the full amount due: the total less the customer's balance.
func (in *invoice) paid() lenient.Int {
	switch {
	case !in.Outside.V || !in.AmountPaid.OK || in.AmountPaid.N != 0:
		return in.AmountPaid
	case in.AmountDue.OK:
		return in.AmountDue
	}
	return in.Total
}

// bought returns a checkout's name for the invoice, if a checkout may have created it.
func (in *invoice) bought() string {
	if in.Reason == "subscription_create" || in.Reason == "manual" {
		return string(checkoutOf(in.ID))
	}
	return ""
}

// checkoutOf names the payment of an invoice as a checkout's.
func checkoutOf(invoice lenient.ID) lenient.ID {
	if invoice == "" {
		return ""
	}
	return "checkout of " + invoice
}

// link names the invoice's payment. From basil on, the ids of payments are present only if they were expanded;
// else invoice_payment.paid has them.
func (in *invoice) link() processor.Link {
	ids := []lenient.ID{in.ID, in.PaymentIntent.ID, in.Charge.ID, in.PaymentIntent.Object.Latest.ID}
	for _, p := range in.Payments {
		ids = append(ids, p.Payment.Intent.ID, p.Payment.Charge, p.Payment.Intent.Object.Latest.ID)
	}
	return link(ids...)
}

// intent returns the payment intent that paid the invoice.
func (in *invoice) intent() string {
	id := in.PaymentIntent.ID
	for _, p := range in.Payments {
		if p.Status == "paid" || p.Status == "" {
			id = first(id, p.Payment.Intent.ID)
		}
	}
	return string(id)
}

// metas returns the metadata of the invoice and of its subscription, in each version's place, the closest to the
// payment first.
func (in *invoice) metas() []lenient.Meta {
	all := []lenient.Meta{in.Metadata}
	for _, l := range in.Lines.Data {
		all = append(all, l.Metadata)
	}
	return append(all, in.Parent.Details.Metadata, in.Details.Metadata,
		in.Parent.Details.Subscription.Object.Metadata, in.Subscription.Object.Metadata)
}

func (in *invoice) skips() bool {
	return processor.Skips(in.metas()...) || processor.Skips(in.PaymentIntent.Object.Metadata, in.Charge.Object.Metadata)
}

// binding returns the invoice's customer.
func (in *invoice) binding() processor.Binding {
	b := processor.Binding{Email: string(in.Email), Name: string(in.Name), Subscription: string(in.subscription())}
	b.Describe(in.metas()...)
	b.Describe(in.PaymentIntent.Object.Metadata)
	redeem(&b, in.discounted)
	for _, l := range in.Lines.Data {
		redeem(&b, l.discounted)
	}
	redeem(&b, in.Subscription.Object.discounted, in.Parent.Details.Subscription.Object.discounted)
	addCustomer(&b, in.Customer, in.Account)
	b.Interval, _ = in.interval()
	return b
}

// subscription returns the id of the invoice's subscription.
func (in *invoice) subscription() lenient.ID {
	id := first(in.Parent.Details.Subscription.ID, in.Subscription.ID)
	for _, l := range in.Lines.Data {
		id = first(id, l.Parent.Item.Subscription, l.Subscription)
	}
	return id
}

// tax returns the tax within the paid amount: all of it, or the same part for a partial payment, as with a
// customer's credit.
func (in *invoice) tax() lenient.Int {
	sum, ok := total(in.TotalTaxes)
	if !ok && in.Tax.OK {
		sum, ok = in.Tax.N, true
	}
	if !ok {
		sum, ok = total(in.TaxAmounts)
	}
	if in.Total.OK && in.AmountPaid.N < in.Total.N {
		sum = lenient.Share(sum, in.AmountPaid.N, in.Total.N)
	}
	return lenient.Int{N: sum, OK: ok}
}

// total sums amounts, and reports whether there are any.
func total(of []amount) (sum int64, reported bool) {
	for _, a := range of {
		sum += a.Amount.N
		reported = reported || a.Amount.OK
	}
	return sum, reported
}

// interval returns the billing interval of the invoice's subscription. From basil on its lines lack it, and the
// subscription has it if expanded.
func (in *invoice) interval() (string, int64) {
	for _, all := range [][]line{
		in.Lines.Data, in.Parent.Details.Subscription.Object.Items, in.Subscription.Object.Items,
	} {
		if every, count := interval(all); every != "" {
			return every, count
		}
	}
	return "", 0
}

// interval returns the billing interval of subscription lines, and the number of intervals of one bill.
func interval(lines []line) (string, int64) {
	for _, l := range lines {
		for _, p := range []plan{l.Price.Recurring, l.Plan, l.Pricing.Details.Price.Recurring} {
			if i := processor.Interval(p.Interval); i != "" {
				return i, p.Count.N
			}
		}
	}
	return "", 0
}

func (l *line) product() lenient.Ref[product] {
	for _, p := range []lenient.Ref[product]{
		l.Pricing.Details.Product, l.Pricing.Details.Price.Product, l.Price.Product, l.Plan.Product,
	} {
		if p.ID != "" {
			return p
		}
	}
	return lenient.Ref[product]{}
}

// maxProducts bounds the list of products in a sale's metadata.
const maxProducts = 20

// describeProducts sets the product of the payment if there is one, else lists all of them in the metadata.
// Lines that reduce the bill are not products.
func describeProducts(p *processor.Payment, of lines) {
	var listed []any
	var one lenient.Ref[product]
	several := of.HasMore.V
	for _, l := range of.Data {
		product, n := l.product(), l.Amount
		if !n.OK {
			n = l.Total
		}
		if n.N <= 0 || product.ID == "" {
			continue
		}
		several = several || one.ID != "" && product.ID != one.ID
		one = product
		amount, _ := minor(n, p.Currency)
		listed = append(listed, map[string]any{
			"id": string(product.ID), "amount_minor": amount, "quantity": l.Quantity.N,
		})
	}
	switch {
	case !several:
		p.ProductID, p.ProductName = string(one.ID), string(one.Object.Name)
	case len(listed) > 0:
		p.Metadata["products"] = listed[:min(len(listed), maxProducts)]
	}
}

// metadata returns the merchant's metadata for the sale. The invoice's values win over its lines', and these
// over the subscription's.
func (in *invoice) metadata() map[string]any {
	out := processor.Merged(in.metas()...)
	if _, count := in.interval(); count > 1 {
		out["interval_count"] = count
	}
	return out
}

// invoicePayment links a payment to its invoice. From basil on, neither names the other.
func (r *reader) invoicePayment() error {
	var p invoicePayment
	if err := r.object(&p); err != nil {
		return err
	}
	if p.Invoice == "" {
		return processor.MalformedError{Member: "invoice_payment.invoice"}
	}
	r.Link = link(p.Invoice, p.Payment.Intent.ID, p.Payment.Charge, p.Payment.Intent.Object.Latest.ID)
	r.Reading.Intent = string(p.Payment.Intent.ID)
	return r.Ignore(processor.BindsOnly, "The invoice reports the payment.")
}
