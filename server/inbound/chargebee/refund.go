package chargebee

import (
	"slices"

	"rail/server/inbound/lenient"
	"rail/server/inbound/processor"
)

// refund reads returned money: refunds, and reversals such as chargebacks. Each is a transaction, whichever
// event shows it. A reversal that fails, is voided or is deleted leaves the money with the merchant: a
// chargeback was won.
func (r *reader) refund() error {
	t := r.Of.Transaction
	failed := t.Status == "late_failure"
	gone := t.Status == "voided" || r.Reading.Type == "transaction_deleted"
	switch {
	case t.ID == "":
		return processor.MalformedError{Member: "content.transaction.id"}
	case t.Type == "":
		return processor.MalformedError{Member: "content.transaction.type"}
	case t.Type == "payment" && (failed || gone):
		return r.bounced()
	case t.Type != "refund" && t.Type != "payment_reversal":
		return r.Ignore(processor.NoMoneyMoved, "The event payment_succeeded reports the payment.")
	case t.Status == "":
		return processor.MalformedError{Member: "content.transaction.status"}
	case t.Status == "failure" || t.Status == "timeout":
		return r.Ignore(processor.NoMoneyMoved, "The refund failed before any money moved.")
	case t.Status != "success" && !failed && !gone:
		return r.Ignore(processor.NotFinal, "The refund is not final. A later event reports its result.")
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
		return r.Ignore(processor.ZeroAmount, "No paid money was refunded.")
	}
	r.Refund = &processor.Refund{
		Link: processor.Link{Charge: to}, ID: string(t.ID), Single: true, LevelMinor: amount, Currency: code,
		Failed: failed && t.Type == "refund", At: r.Reading.At,
		Undone: gone || failed && t.Type == "payment_reversal",
	}
	return nil
}

// creditNote ignores credit notes, whose refunds come as transactions.
func (r *reader) creditNote() error {
	return r.Ignore(processor.NoMoneyMoved, "A credit note moves no money. The event payment_refunded reports refunds.")
}

// bounced takes back a payment that succeeded and failed days later, such as a direct debit. If its reversal
// also comes as a transaction, nothing is left to refund.
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

// paid returns the refunded payment: the one the refund names, else the invoice's.
func (r *reader) paid() string {
	t, in := r.Of.Transaction, r.Of.Invoice
	if id := first(t.Refunded, t.Reference); id != "" {
		return id
	}
	var one lenient.ID
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
