// Package stripetest makes Stripe's events for tests, signed, in the shapes that
// an endpoint of each version of the API is sent. The shapes are those of Stripe's
// public description and change logs; the members that Rail reads are all
// there, and enough of the others to be taken for real.
package stripetest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Version is one of Stripe's API.
type Version string

// The versions with different shapes. Acacia covers all versions before basil.
const (
	Acacia Version = "2025-02-24.acacia"
	Basil  Version = "2025-03-31.basil"
	Clover Version = "2025-09-30.clover"
)

// Versions are all of them.
var Versions = []Version{Acacia, Basil, Clover}

// Object is one of Stripe's objects.
type Object = map[string]any

// Sign returns the header Stripe-Signature for a body that is sent at a time.
func Sign(secret string, body []byte, at time.Time) string {
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%d.%s", at.Unix(), body)
	return fmt.Sprintf("t=%d,v1=%s,v0=%064d", at.Unix(), hex.EncodeToString(mac.Sum(nil)), 0)
}

// Purchase is a payment as Stripe knows it. Without an invoice it is a checkout
// of one payment; without a session the merchant made it otherwise.
type Purchase struct {
	Version Version
	Name    string // ends the ids of its objects
	Live    bool
	At      time.Time

	Customer     string // empty for a guest
	Subscription bool
	Invoiced     bool
	NoSession    bool

	Amount, Tax, Refunded int64 // as Stripe counts
	Currency              string
	Email                 string
	Reference             string // client_reference_id
	Promotion, Coupon     string
	Metadata              Object // of the session, or the subscription
}

// The ids of the objects.
func (p Purchase) id(prefix string) string { return prefix + p.Name }

// Charge returns the sale's charge id.
func (p Purchase) Charge() string {
	if p.Invoiced {
		return p.id("in_")
	}
	return p.id("pi_")
}

// Intent is the id of the payment intent.
func (p Purchase) Intent() string { return p.id("pi_") }

// Event wraps an object as an endpoint of the purchase's version is sent it.
// Its id is made of its type and the purchase's name, with a suffix where there
// are several.
func (p Purchase) Event(kind string, object Object, suffix ...string) []byte {
	body, err := json.Marshal(Object{
		"id": "evt_" + kind + "_" + p.Name + strings.Join(suffix, ""), "object": "event",
		"api_version": p.Version, "created": p.At.Unix(), "livemode": p.Live, "pending_webhooks": 1, "type": kind,
		"data": Object{"object": object}, "request": Object{"id": nil, "idempotency_key": nil},
	})
	if err != nil {
		panic(err)
	}
	return body
}

// basil reports whether the shapes are those from basil on.
func (p Purchase) basil() bool { return p.Version != Acacia }

func list(of ...any) Object {
	return Object{"object": "list", "data": of, "has_more": false, "url": "/v1/list"}
}

// null is an id, or null for none.
func null(id string) any {
	if id == "" {
		return nil
	}
	return id
}

// metadata is the purchase's if its owner has it, else an empty object.
func (p Purchase) metadata(own bool) Object {
	if own && p.Metadata != nil {
		return p.Metadata
	}
	return Object{}
}

// discounts are the purchase's as a session shows them.
func (p Purchase) discounts() []any {
	if p.Promotion == "" && p.Coupon == "" {
		return []any{}
	}
	return []any{Object{"coupon": null(p.Coupon), "promotion_code": null(p.Promotion)}}
}

// Discount is the customer's discount, whose coupon moved in clover.
func (p Purchase) Discount() Object {
	d := Object{
		"id": p.id("di_"), "object": "discount", "customer": null(p.Customer), "promotion_code": null(p.Promotion),
		"checkout_session": nil, "start": p.At.Unix(), "end": nil, "subscription": nil, "invoice": nil,
	}
	if p.Version == Clover {
		d["source"] = Object{"type": "coupon", "coupon": null(p.Coupon)}
	} else {
		d["coupon"] = Object{"id": p.Coupon, "object": "coupon", "percent_off": 10, "duration": "once", "valid": true}
	}
	return d
}

// PromotionCode is the code by which a partner is known.
func (p Purchase) PromotionCode(active bool) Object {
	c := Object{"id": p.Promotion, "object": "promotion_code", "active": active, "code": "FALL20", "livemode": p.Live}
	if p.Version == Clover {
		c["promotion"] = Object{"type": "coupon", "coupon": p.Coupon}
	} else {
		c["coupon"] = Object{"id": p.Coupon, "object": "coupon"}
	}
	return c
}

// Session is the finished checkout.
func (p Purchase) Session() Object {
	mode, intent, invoice, subscription := "payment", null(p.id("pi_")), any(nil), any(nil)
	if p.Invoiced {
		invoice = p.id("in_")
	}
	if p.Subscription {
		mode, intent, subscription = "subscription", nil, p.id("sub_")
	}
	return Object{
		"id": p.id("cs_test_"), "object": "checkout.session", "mode": mode, "payment_status": "paid", "status": "complete",
		"amount_subtotal": p.Amount - p.Tax, "amount_total": p.Amount, "currency": p.Currency,
		"client_reference_id": null(p.Reference), "customer": null(p.Customer), "customer_email": nil,
		"customer_details": Object{"email": null(p.Email), "name": "Jenny Rosen", "tax_exempt": "none", "phone": nil},
		"livemode":         p.Live, "metadata": p.metadata(!p.Subscription), "payment_intent": intent, "invoice": invoice,
		"subscription": subscription, "discounts": p.discounts(), "currency_conversion": nil, "payment_link": nil,
		"total_details": Object{"amount_discount": 0, "amount_shipping": 0, "amount_tax": p.Tax},
		"setup_intent":  nil, "url": nil, "locale": nil,
	}
}

// Invoice is the paid invoice, in which basil moved almost everything.
func (p Purchase) Invoice() Object {
	in := Object{
		"id": p.id("in_"), "object": "invoice", "status": "paid", "amount_due": p.Amount, "amount_paid": p.Amount,
		"amount_remaining": 0, "total": p.Amount, "subtotal": p.Amount - p.Tax, "currency": p.Currency,
		"customer": null(p.Customer), "customer_email": null(p.Email), "customer_name": "Jenny Rosen", "livemode": p.Live,
		"metadata": Object{}, "discounts": []any{}, "lines": list(p.line()), "billing_reason": "subscription_create",
		"status_transitions": Object{"finalized_at": p.At.Unix(), "paid_at": p.At.Unix(), "voided_at": nil},
		"starting_balance":   0, "ending_balance": 0, "number": "EE1DF78D-0001", "account_country": "US",
	}
	details := Object{"metadata": p.metadata(p.Subscription)}
	tax := []any{Object{"amount": p.Tax, "tax_behavior": "exclusive", "taxable_amount": p.Amount - p.Tax}}
	if p.basil() {
		in["total_taxes"], in["total_excluding_tax"] = tax, p.Amount-p.Tax
		in["parent"] = nil
		if p.Subscription {
			details["subscription"] = p.id("sub_")
			in["parent"] = Object{"type": "subscription_details", "subscription_details": details, "quote_details": nil}
		}
		return in
	}
	in["charge"], in["payment_intent"], in["paid"], in["paid_out_of_band"] = p.id("ch_"), p.id("pi_"), true, false
	in["tax"], in["total_tax_amounts"], in["discount"], in["subscription"] = p.Tax, tax, nil, nil
	if p.Subscription {
		in["subscription"], in["subscription_details"] = p.id("sub_"), details
	}
	return in
}

// line is the invoice's one line.
func (p Purchase) line() Object {
	l := Object{
		"id": p.id("il_"), "object": "line_item", "amount": p.Amount - p.Tax, "currency": p.Currency, "quantity": 1,
		"description": "1 × Pro", "discount_amounts": []any{}, "discountable": true, "discounts": []any{},
		"livemode": p.Live, "metadata": p.metadata(p.Subscription),
		"period": Object{"start": p.At.Unix(), "end": p.At.AddDate(0, 1, 0).Unix()},
	}
	if p.basil() {
		l["pricing"] = Object{
			"type": "price_details", "price_details": Object{"price": "price_1", "product": "prod_1"}, "unit_amount_decimal": "1",
		}
		l["parent"] = Object{"type": "invoice_item_details", "invoice_item_details": Object{"proration": false}}
		if p.Subscription {
			item := Object{"subscription": p.id("sub_"), "subscription_item": "si_1", "proration": false}
			l["parent"] = Object{"type": "subscription_item_details", "subscription_item_details": item}
		}
		return l
	}
	price := Object{"id": "price_1", "object": "price", "product": "prod_1", "recurring": nil, "type": "one_time"}
	l["subscription"], l["plan"], l["proration"], l["type"] = nil, nil, false, "invoiceitem"
	if p.Subscription {
		price["recurring"] = Object{"interval": "month", "interval_count": 1, "usage_type": "licensed"}
		l["subscription"], l["type"] = p.id("sub_"), "subscription"
	}
	l["price"] = price
	return l
}

// InvoicePayment joins invoice and payment, from basil on.
func (p Purchase) InvoicePayment() Object {
	return Object{
		"id": p.id("inpay_"), "object": "invoice_payment", "amount_paid": p.Amount, "amount_requested": p.Amount,
		"currency": p.Currency, "invoice": p.id("in_"), "is_default": true, "livemode": p.Live, "status": "paid",
		"payment":            Object{"type": "payment_intent", "payment_intent": p.id("pi_")},
		"status_transitions": Object{"paid_at": p.At.Unix(), "canceled_at": nil},
	}
}

// PaymentIntent is the intent, once it succeeded.
func (p Purchase) PaymentIntent() Object {
	pi := Object{
		"id": p.id("pi_"), "object": "payment_intent", "amount": p.Amount, "amount_received": p.Amount,
		"amount_capturable": 0, "currency": p.Currency, "customer": null(p.Customer), "latest_charge": p.id("ch_"),
		"livemode": p.Live, "metadata": p.metadata(p.NoSession && !p.Invoiced), "receipt_email": nil, "status": "succeeded",
	}
	if !p.basil() {
		pi["invoice"] = nil
		if p.Invoiced {
			pi["invoice"] = p.id("in_")
		}
	}
	return pi
}

// ChargeObject is the charge, with what of it was refunded.
func (p Purchase) ChargeObject() Object {
	c := Object{
		"id": p.id("ch_"), "object": "charge", "amount": p.Amount, "amount_captured": p.Amount, "captured": true,
		"amount_refunded": p.Refunded, "refunded": p.Refunded == p.Amount, "currency": p.Currency, "paid": true,
		"customer": null(p.Customer), "payment_intent": p.id("pi_"), "livemode": p.Live, "metadata": Object{},
		"billing_details": Object{"email": null(p.Email), "name": nil, "phone": nil}, "receipt_email": nil,
		"disputed": false, "status": "succeeded",
	}
	if !p.basil() {
		c["invoice"] = nil
		if p.Invoiced {
			c["invoice"] = p.id("in_")
		}
	}
	return c
}

// Refund is one refund.
func (p Purchase) Refund(id string, amount int64, status string) Object {
	return Object{
		"id": id, "object": "refund", "amount": amount, "currency": p.Currency, "charge": p.id("ch_"), "metadata": Object{},
		"payment_intent": p.id("pi_"), "status": status, "reason": nil, "balance_transaction": nil, "created": p.At.Unix(),
	}
}

// Dispute is the one dispute.
func (p Purchase) Dispute(amount int64, status string) Object {
	return Object{
		"id": p.id("dp_"), "object": "dispute", "amount": amount, "currency": p.Currency, "charge": p.id("ch_"),
		"payment_intent": p.id("pi_"), "status": status, "reason": "fraudulent", "livemode": p.Live, "metadata": Object{},
		"balance_transactions": []any{}, "is_charge_refundable": false,
	}
}

// SubscriptionObject is the subscription in a state.
func (p Purchase) SubscriptionObject(status string) Object {
	item := Object{
		"id": "si_1", "object": "subscription_item", "quantity": 1, "metadata": Object{},
		"price": Object{"id": "price_1", "product": "prod_1", "recurring": Object{"interval": "month", "interval_count": 1}},
	}
	return Object{
		"id": p.id("sub_"), "object": "subscription", "status": status, "customer": null(p.Customer), "livemode": p.Live,
		"metadata": p.metadata(true), "items": list(item), "discounts": []any{}, "latest_invoice": p.id("in_"),
	}
}

// CustomerObject is the customer.
func (p Purchase) CustomerObject() Object {
	return Object{
		"id": p.Customer, "object": "customer", "email": null(p.Email), "name": "Jenny Rosen", "livemode": p.Live,
		"metadata": p.metadata(true), "discount": nil, "balance": 0, "delinquent": false,
	}
}
