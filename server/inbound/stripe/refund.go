package stripe

import (
	"rail/server/inbound/lenient"
	"rail/server/inbound/processor"
)

// refunded reads how much of a charge was refunded in total. Released parts of an authorization were never paid,
// but are included in the same sum.
func (r *reader) refunded() error {
	var c charge
	if err := r.object(&c); err != nil {
		return err
	}
	of, level, currency, err := c.level()
	if err != nil {
		return err
	}
	to := link(c.Intent, c.ID, c.Invoice)
	if to.Charge == "" {
		return processor.MalformedError{Member: "charge.id"}
	}
	if level == 0 {
		r.Link = to
		return r.Ignore(processor.ZeroAmount, "No paid money was refunded.")
	}
	r.Refund = &processor.Refund{Link: to, LevelMinor: level, OfMinor: of, Currency: currency, At: r.At}
	return nil
}

// level returns the paid and the refunded amount of a charge.
func (c *charge) level() (paid, level int64, currency string, err error) {
	back := c.Refunded
	if c.Caught.OK && c.Amount.OK && c.Caught.N < c.Amount.N {
		back.N = max(0, back.N-(c.Amount.N-max(0, c.Caught.N)))
	}
	level, currency, err = money("charge", "amount_refunded", back, c.Currency)
	return nearest(c.paid(), currency), level, currency, err
}

// refund reads one refund: the payment's level is at least its amount or, if the charge was expanded, the
// charge's level.
func (r *reader) refund() error {
	var f refund
	if err := r.object(&f); err != nil {
		return err
	}
	amount, currency, err := money("refund", "amount", f.Amount, f.Currency)
	if err != nil {
		return err
	}
	to := link(f.Intent, f.Charge.ID, f.Charge.Object.Invoice)
	failed := f.Status == "failed" || f.Status == "canceled" || r.Reading.Type == "refund.failed"
	switch {
	case f.ID == "":
		return processor.MalformedError{Member: "refund.id"}
	case to.Charge == "":
		return processor.MalformedError{Member: "refund.payment_intent"}
	case f.Status == "" && !failed:
		return processor.MalformedError{Member: "refund.status"}
	case f.Status != "succeeded" && !failed:
		r.Link = to
		return r.Ignore(processor.NotFinal, "The refund is not final. A later event reports its result.")
	case failed:
		r.Note = string(f.Reason)
	}
	r.Refund = &processor.Refund{
		Link: to, ID: string(f.ID), LevelMinor: amount, Currency: currency, Failed: failed, At: r.At,
	}
	if whole := f.Charge.Object; whole.ID != "" {
		if of, level, in, err := whole.level(); err == nil && in == currency {
			r.Refund.OfMinor = of
			if !failed { // the level does not include a failed refund
				r.Refund.LevelMinor = max(level, amount)
			}
		}
	}
	return nil
}

// outcomes maps the final states of disputes. A closed inquiry and a dispute prevented by a refund move no
// money.
var outcomes = map[lenient.Text]string{
	"lost":            processor.DisputeLost,
	"won":             processor.DisputeWon,
	"warning_closed":  processor.DisputeWithdrawn,
	"prevented":       processor.DisputeWithdrawn,
	"charge_refunded": processor.DisputeWithdrawn,
}

// dispute reads the state of a dispute, complete in each of its events. Its amount may be converted from another
// currency, so it is rounded.
func (r *reader) dispute() error {
	var d dispute
	if err := r.object(&d); err != nil {
		return err
	}
	currency, ok := code(d.Currency)
	to := link(d.Intent, d.Charge.ID, d.Charge.Object.Invoice)
	switch {
	case d.ID == "":
		return processor.MalformedError{Member: "dispute.id"}
	case !ok:
		return processor.MalformedError{Member: "dispute.currency"}
	case !d.Amount.OK || d.Amount.N < 0:
		return processor.MalformedError{Member: "dispute.amount"}
	case to.Charge == "":
		return processor.MalformedError{Member: "dispute.payment_intent"}
	case d.Status == "":
		return processor.MalformedError{Member: "dispute.status"}
	}
	r.Dispute = &processor.Dispute{
		Link: to, ID: string(d.ID), Status: first(outcomes[d.Status], processor.DisputeOpen), Detail: string(d.Status),
		AmountMinor: nearest(d.Amount, currency), Currency: currency, At: r.At,
	}
	if whole := d.Charge.Object; whole.ID != "" && string(whole.Currency) == string(d.Currency) {
		r.Dispute.OfMinor = nearest(whole.paid(), currency)
	}
	return nil
}

// fraudWarning reads a card network's warning that a payment may be disputed. A warning that is not actionable
// is over: the payment was refunded or disputed.
func (r *reader) fraudWarning() error {
	var w fraudWarning
	if err := r.object(&w); err != nil {
		return err
	}
	to := link(w.Intent, w.Charge.ID, w.Charge.Object.Invoice)
	switch {
	case w.ID == "":
		return processor.MalformedError{Member: "early_fraud_warning.id"}
	case to.Charge == "":
		return processor.MalformedError{Member: "early_fraud_warning.charge"}
	}
	r.Dispute = &processor.Dispute{
		Link: to, ID: string(w.ID), Status: processor.DisputeOpen, Detail: string(w.Type), At: r.At,
	}
	if w.Actionable.OK && !w.Actionable.V {
		r.Dispute.Status, r.Dispute.Detail = processor.DisputeWithdrawn, "the warning is no longer actionable"
	}
	return nil
}

// creditNote reads refunds outside Stripe by a credit note. Other refunds come with events of their charges, and
// credit reduces a later invoice.
func (r *reader) creditNote() error {
	var n creditNote
	if err := r.object(&n); err != nil {
		return err
	}
	switch {
	case n.ID == "":
		return processor.MalformedError{Member: "credit_note.id"}
	case n.Invoice == "":
		return processor.MalformedError{Member: "credit_note.invoice"}
	case !n.Outside.OK || n.Outside.N == 0:
		return r.Ignore(processor.NoMoneyMoved, "The credit note has no refund outside Stripe. Refunds by Stripe have separate events.")
	}
	amount, currency, err := money("credit_note", "out_of_band_amount", n.Outside, n.Currency)
	if err != nil {
		return err
	}
	r.Refund = &processor.Refund{
		Link: link(n.Invoice), ID: string(n.ID), LevelMinor: amount, Currency: currency, OnTop: true,
		Undone: n.Status == "void" || r.Reading.Type == "credit_note.voided", At: r.At,
	}
	return nil
}
