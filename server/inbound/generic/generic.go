// Package generic reads events of any processor that signs them as Standard Webhooks and sends sales and refunds
// in Rail's own format. It connects a processor without a package in Rail by a few lines of code.
package generic

import (
	"net/http"
	"strings"

	"rail/server/clock"
	"rail/server/ident"
	"rail/server/inbound/lenient"
	"rail/server/inbound/processor"
	"rail/server/locale/currency"
	"rail/server/outbound/webhook/verify"
)

// maxMinor is the largest amount that Rail stores.
const maxMinor = 999_999_999_999

// Source implements processor.Source for the generic processor.
type Source struct{}

// Head requires a recent signature.
func (Source) Head(_ string, header http.Header, now clock.Time) error {
	return processor.StandardHead(header, now)
}

// Verify checks the headers of Standard Webhooks.
func (Source) Verify(secret string, header http.Header, body []byte, now clock.Time) error {
	return verify.Standard(header, body, secret, now.Time)
}

// EventID returns the event's id from the header, since bodies have none.
func (Source) EventID(header http.Header) string { return header.Get("webhook-id") }

// body is a sale or a refund.
type body struct {
	Type       lenient.Text `json:"type"`
	Test       lenient.Bool `json:"test"`
	Charge     lenient.ID   `json:"external_charge_id"`
	Customer   lenient.ID   `json:"external_customer_id"`
	Amount     *lenient.Int `json:"amount_minor"`
	Tax        *lenient.Int `json:"tax_minor"`
	Fee        *lenient.Int `json:"fee_minor"`
	Currency   lenient.Text `json:"currency"`
	At         lenient.Text `json:"occurred_at"`
	Interval   lenient.Text `json:"interval"`
	Product    lenient.Text `json:"product_id"`
	Named      lenient.Text `json:"product_name"`
	Click      lenient.Text `json:"click_id"`
	Referral   lenient.Text `json:"referral_id"`
	Identifier lenient.Text `json:"identifier"`
	Email      lenient.Text `json:"email"`
	Name       lenient.Text `json:"name"`
	Coupon     lenient.ID   `json:"coupon_external_id"`
	Metadata   lenient.Meta `json:"metadata"`
	Refund     lenient.ID   `json:"external_refund_id"`
	RefundedAt lenient.Text `json:"refunded_at"`
}

// Read reads a sale or a refund.
func (Source) Read(raw []byte) (processor.Reading, error) {
	var b body
	if err := lenient.Into(raw, &b); err != nil || len(raw) == 0 || strings.TrimLeft(string(raw), " \t\r\n")[0] != '{' {
		return processor.Reading{}, processor.MalformedError{Member: "The body"}
	}
	r := processor.Reading{Type: string(b.Type), Live: !b.Test.V}
	kind, _, _ := strings.Cut(r.Type, ".")
	if kind == "" {
		kind = "sale"
		if b.Refund != "" {
			kind = "refund"
		}
		r.Type = kind
	}
	if (kind == "sale" || kind == "refund") && b.Charge == "" {
		return r, processor.MalformedError{Member: "external_charge_id"}
	}
	var err error
	switch kind {
	case "sale":
		err = b.sale(&r)
	case "refund":
		err = b.refund(&r)
	default:
		r.Ignored = processor.NotUsed
	}
	return r, err
}

// sale reads a payment. A payment of zero is not recorded.
func (b *body) sale(r *processor.Reading) error {
	if processor.Skips(b.Metadata) {
		r.Link.Charge = string(b.Charge)
		return r.Ignore(processor.OptedOut, "")
	}
	amount, err := amountOf(b.Amount, "amount_minor")
	if err != nil {
		return err
	}
	p := processor.Payment{
		Link: processor.Link{Charge: string(b.Charge)}, AmountMinor: amount,
		ProductID: string(b.Product), ProductName: string(b.Named), Metadata: b.Metadata, Binding: b.binding(),
	}
	if b.Tax != nil {
		if p.TaxMinor, err = amountOf(b.Tax, "tax_minor"); err != nil {
			return err
		}
	}
	if b.Fee != nil {
		fee, err := amountOf(b.Fee, "fee_minor")
		if err != nil {
			return err
		}
		p.FeeMinor = &fee
	}
	if r.At, err = timeOf(b.At, "occurred_at"); err != nil {
		return err
	}
	if b.Amount == nil {
		return processor.MalformedError{Member: "amount_minor"}
	}
	if amount == 0 {
		return r.Ignore(processor.ZeroAmount, "")
	}
	if p.Currency, err = currencyOf(b.Currency); err != nil {
		return err
	}
	if p.TaxMinor > amount {
		return processor.MalformedError{Member: "tax_minor"}
	}
	if p.FeeMinor != nil && *p.FeeMinor > amount {
		return processor.MalformedError{Member: "fee_minor"}
	}
	p.At, r.Payment = r.At, &p
	return nil
}

// binding reads the payer. click_id may hold a referral too, since the browser script provides either.
func (b *body) binding() processor.Binding {
	payer := processor.Binding{
		Customer: string(b.Customer), Identifier: string(b.Identifier), Email: string(b.Email), Name: string(b.Name),
		Click: string(b.Click), Referral: string(b.Referral), Interval: processor.Interval(b.Interval),
	}
	if ident.Has(payer.Click, ident.Referral) {
		payer.Click, payer.Referral = "", payer.Click
	}
	if b.Coupon != "" {
		payer.Coupon = []string{string(b.Coupon)}
	}
	return payer
}

// refund reads a refund; without an amount it refunds the whole rest.
func (b *body) refund(r *processor.Reading) (err error) {
	if b.Refund == "" {
		return processor.MalformedError{Member: "external_refund_id"}
	}
	f := processor.Refund{
		Link: processor.Link{Charge: string(b.Charge)}, ID: string(b.Refund), Single: true,
	}
	if b.Amount != nil {
		if f.LevelMinor, err = amountOf(b.Amount, "amount_minor"); err != nil {
			return err
		}
		if f.LevelMinor == 0 {
			r.Ignored = processor.ZeroAmount
			return nil
		}
	}
	if b.Currency != "" { // else the sale's currency
		if f.Currency, err = currencyOf(b.Currency); err != nil {
			return err
		}
	}
	if r.At, err = timeOf(b.RefundedAt, "refunded_at"); err != nil {
		return err
	}
	f.At, r.Refund = r.At, &f
	return nil
}

// amountOf returns an amount within the storable range; 0 if absent.
func amountOf(amount *lenient.Int, member string) (int64, error) {
	if amount == nil {
		return 0, nil
	}
	if !amount.OK || amount.N < 0 || amount.N > maxMinor {
		return 0, processor.MalformedError{Member: member}
	}
	return amount.N, nil
}

// currencyOf returns a currency in ISO 4217 form.
func currencyOf(text lenient.Text) (string, error) {
	code, ok := currency.Normal(string(text))
	if !ok {
		return "", processor.MalformedError{Member: "currency"}
	}
	return code, nil
}

// timeOf returns a time; zero if absent.
func timeOf(text lenient.Text, member string) (clock.Time, error) {
	if text == "" {
		return clock.Time{}, nil
	}
	at, err := clock.Parse(string(text))
	if err != nil {
		return at, processor.MalformedError{Member: member}
	}
	return at, nil
}
