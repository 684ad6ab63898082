package chargebee

import (
	"strings"

	"rail/server/inbound/lenient"
	"rail/server/inbound/processor"
)

// payment reads collected money. An invoice may be paid by several.
func (r *reader) payment() error {
	t, b := r.Of.Transaction, r.binding()
	switch {
	case t.ID == "":
		return processor.MalformedError{Member: "content.transaction.id"}
	case processor.Skips(r.metas()...):
		r.Link.Charge = string(t.ID)
		return r.Ignore(processor.OptedOut, "")
	case t.Status == "":
		return processor.MalformedError{Member: "content.transaction.status"}
	case t.Type != "payment" && t.Type != "" || t.Status != "success":
		return r.Binds(b, processor.NotUsed, "The transaction is not a successful payment.")
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

// tax returns the transaction's part of the invoice's tax.
func (r *reader) tax(code string) int64 {
	in, t := r.Of.Invoice, r.Of.Transaction
	total := in.Total
	if !total.OK {
		total = in.Amount
	}
	if in.Currency != "" && !strings.EqualFold(string(in.Currency), code) {
		return 0
	}
	n, _ := minor(lenient.Int{N: lenient.Share(in.Tax.N, min(t.Amount.N, total.N), total.N), OK: true}, code)
	return max(n, 0)
}

// plan returns the plan of an invoice; nothing if it has several.
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
