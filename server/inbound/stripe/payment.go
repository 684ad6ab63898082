package stripe

import (
	"rail/server/inbound/lenient"
	"rail/server/inbound/processor"
)

// session reads a finished checkout. It identifies the customer, and reports the money if no invoice does.
func (r *reader) session() error {
	var s session
	if err := r.object(&s); err != nil {
		return err
	}
	if s.ID == "" {
		return processor.MalformedError{Member: "session.id"}
	}
	r.Link = link(s.Invoice.ID, s.Intent.ID, s.Intent.Object.Latest.ID, s.ID, checkoutOf(s.Invoice.ID))
	b := s.binding()
	switch {
	case b.Skip || processor.Skips(s.metas()...):
		return r.Ignore(processor.OptedOut, "")
	case s.Mode == "":
		return processor.MalformedError{Member: "session.mode"}
	case s.Mode != "payment" || s.Invoice.ID != "":
		return r.Binds(b, processor.BindsOnly, "")
	case s.PaymentStatus == "":
		return processor.MalformedError{Member: "session.payment_status"}
	case s.PaymentStatus == "no_payment_required":
		return r.Binds(b, processor.ZeroAmount, "")
	case s.PaymentStatus != "paid" && s.Intent.ID == "":
		return r.Binds(b, processor.NotUsed, "The payment is not complete: a later event reports it.")
	}
	err := r.sessionPaid(s, b)
	if r.Payment != nil && s.PaymentStatus != "paid" {
		r.Payment.Unpaid, r.Binding = true, &b
	}
	return err
}

// sessionPaid reads the money of a session. If the customer saw another currency, the merchant's currency
// counts.
func (r *reader) sessionPaid(s session, b processor.Binding) error {
	total, shown, tax := s.AmountTotal, s.Currency, s.Totals.Tax
	if to := s.Conversion; to.AmountTotal.OK && to.Currency != "" {
		tax.N = lenient.Share(tax.N, to.AmountTotal.N, total.N)
		total, shown = to.AmountTotal, to.Currency
	}
	paid, currency, err := money("session", "amount_total", total, shown)
	if err != nil {
		return err
	}
	if paid == 0 {
		return r.Binds(b, processor.ZeroAmount, "")
	}
	r.Payment = &processor.Payment{
		Link: r.Link, Binding: b, AmountMinor: paid, TaxMinor: min(paid, nearest(tax, currency)), Currency: currency,
		At: r.At, Intent: string(s.Intent.ID), Metadata: processor.Merged(s.Metadata, s.Intent.Object.Metadata),
	}
	r.Payment.FeeMinor = s.Intent.Object.Latest.Object.fee(r.Payment, total)
	describeProducts(r.Payment, s.Lines)
	r.Link = processor.Link{}
	return nil
}

// metas returns the metadata of the session and the objects it created, the closest to the payment first.
func (s *session) metas() []lenient.Meta {
	return []lenient.Meta{
		s.Metadata, s.Subscription.Object.Metadata, s.Intent.Object.Metadata, s.Invoice.Object.Metadata,
	}
}

// binding returns the checkout's customer; without one it was a guest.
func (s *session) binding() processor.Binding {
	b := processor.Binding{
		Email: string(first(s.Person.Email, s.Email)), Name: string(s.Person.Name),
		Subscription: string(s.Subscription.ID),
	}
	own := b.Visit(string(s.Reference))
	b.Describe(s.metas()...)
	if !own {
		b.Identifier = first(b.Identifier, string(s.Reference))
	}
	redeem(&b, s.discounted, s.Subscription.Object.discounted)
	addCustomer(&b, s.Customer, s.Account)
	return b
}

// intent reads a payment that may belong to a checkout or an invoice, which report its money; until basil it
// names the invoice.
func (r *reader) intent() error {
	var p intent
	if err := r.object(&p); err != nil {
		return err
	}
	if p.ID == "" {
		return processor.MalformedError{Member: "payment_intent.id"}
	}
	ids := []lenient.ID{p.Invoice, p.ID, p.Latest.ID}
	for _, c := range p.Charges {
		ids = append(ids, c.ID)
	}
	r.Link = link(ids...)
	b := processor.Binding{Email: string(p.email())}
	b.Describe(p.Metadata)
	addCustomer(&b, p.Customer, p.Account)
	switch {
	case b.Skip || processor.Skips(p.Metadata):
		return r.Ignore(processor.OptedOut, "")
	case p.Invoice != "":
		return r.Binds(b, processor.NotUsed, "The invoice reports the payment.")
	}
	err := r.outside(b, "payment_intent", "amount_received", p.Received, p.Currency)
	if r.Payment != nil {
		r.Payment.Intent, r.Payment.Metadata = string(p.ID), processor.Merged(p.Metadata)
		r.Payment.FeeMinor = p.charge().fee(r.Payment, p.Received)
		r.Payment.Captured = p.Capture == "manual"
	}
	return err
}

// charge returns the charge of the payment; empty if only its id is present.
func (p *intent) charge() *charge {
	for i := range p.Charges {
		if p.Charges[i].Captured.V {
			return &p.Charges[i]
		}
	}
	return &p.Latest.Object
}

func (p *intent) email() lenient.Text {
	email := first(p.Email, p.Latest.Object.Email, p.Latest.Object.Billing.Email)
	for _, c := range p.Charges {
		email = first(email, c.Email, c.Billing.Email)
	}
	return email
}

// charge reads a payment without an intent, from old integrations. For a charge with an intent or an invoice it
// only records the id.
func (r *reader) charge() error {
	var c charge
	if err := r.object(&c); err != nil {
		return err
	}
	if c.ID == "" {
		return processor.MalformedError{Member: "charge.id"}
	}
	r.Link = link(c.Invoice, c.Intent, c.ID)
	b := processor.Binding{Email: string(first(c.Email, c.Billing.Email)), Name: string(c.Billing.Name)}
	b.Describe(c.Metadata)
	addCustomer(&b, c.Customer, c.Account)
	switch {
	case b.Skip || processor.Skips(c.Metadata):
		return r.Ignore(processor.OptedOut, "")
	case c.Invoice != "" || c.Intent != "":
		return r.Binds(b, processor.NotUsed, "The invoice or the payment intent reports the payment.")
	case c.Captured.OK && !c.Captured.V:
		return r.Binds(b, processor.NotUsed, "The charge is not captured yet.")
	}
	err := r.outside(b, "charge", "amount", c.paid(), c.Currency)
	if r.Payment != nil {
		r.Payment.Metadata, r.Payment.FeeMinor = processor.Merged(c.Metadata), c.fee(r.Payment, c.paid())
	}
	return err
}

// paid returns the captured amount of a charge.
func (c *charge) paid() lenient.Int {
	if c.Caught.OK {
		return c.Caught
	}
	return c.Amount
}

// outside reads money that no checkout or invoice is known to report.
func (r *reader) outside(b processor.Binding, name, member string, amount lenient.Int, in lenient.Text) error {
	paid, currency, err := money(name, member, amount, in)
	if err != nil {
		return err
	}
	if paid == 0 {
		return r.Binds(b, processor.ZeroAmount, "")
	}
	r.Payment = &processor.Payment{
		Link: r.Link, Binding: b, AmountMinor: paid, Currency: currency, At: r.At, Outside: true,
	}
	r.Link = processor.Link{}
	return nil
}
