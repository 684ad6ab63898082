package stripe

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/lenient"
	"rail/server/harness/stripetest"
	"rail/server/inbound/processor"
)

// samples returns an event of each type in each version.
func samples() [][]byte {
	var all [][]byte
	for _, v := range stripetest.Versions {
		p, c := bought(v), checkout(v)
		p.Promotion, p.Coupon, p.Refunded, c.Reference = "promo_1", "FALL", 100, click
		expanded := p.Invoice()
		expanded["customer"], expanded["discount"] = p.CustomerObject(), p.Discount()
		expanded["discounts"], expanded["payments"] = []any{p.Discount(), "di_2"}, object{"data": []any{p.InvoicePayment()}}
		expanded["payment_intent"], expanded["charge"] = p.PaymentIntent(), p.ChargeObject()
		expanded["subscription"] = p.SubscriptionObject("active")
		refund := p.Refund("re_1", 100, "succeeded")
		refund["charge"] = p.ChargeObject()
		all = append(all,
			p.Event("invoice.paid", p.Invoice()), p.Event("invoice.payment_succeeded", expanded),
			p.Event("checkout.session.completed", p.Session()), c.Event("checkout.session.completed", c.Session()),
			p.Event("invoice_payment.paid", p.InvoicePayment()), c.Event("payment_intent.succeeded", c.PaymentIntent()),
			c.Event("charge.succeeded", p.ChargeObject()), p.Event("charge.refunded", p.ChargeObject()),
			p.Event("refund.created", refund), p.Event("charge.dispute.closed", p.Dispute(5, "lost")),
			p.Event("customer.created", p.CustomerObject()), p.Event("customer.discount.created", p.Discount()),
			p.Event("customer.subscription.updated", p.SubscriptionObject("trialing")),
			p.Event("promotion_code.updated", p.PromotionCode(true)), p.Event("coupon.deleted", object{"id": "FALL"}),
		)
	}
	return all
}

// TestEveryMemberMayChange removes and retypes every member of events.
func TestEveryMemberMayChange(t *testing.T) {
	t.Parallel()
	lenient.Changes(t, Read, samples()...)
}

// TestMoneyNeedsItsMembers: a payment with a missing member is an error that names it, and never another
// payment.
func TestMoneyNeedsItsMembers(t *testing.T) {
	t.Parallel()
	for _, v := range stripetest.Versions {
		p, c := bought(v), checkout(v)
		for member, body := range map[string][]byte{
			"invoice.id":                     p.Event("invoice.paid", without(p.Invoice(), "id")),
			"invoice.customer":               p.Event("invoice.paid", without(p.Invoice(), "customer")),
			"invoice.amount_paid":            p.Event("invoice.paid", without(p.Invoice(), "amount_paid")),
			"invoice.currency":               p.Event("invoice.paid", without(p.Invoice(), "currency")),
			"session.id":                     c.Event("checkout.session.completed", without(c.Session(), "id")),
			"session.mode":                   c.Event("checkout.session.completed", without(c.Session(), "mode")),
			"session.payment_status":         c.Event("checkout.session.completed", without(c.Session(), "payment_status")),
			"session.amount_total":           c.Event("checkout.session.completed", without(c.Session(), "amount_total")),
			"session.currency":               c.Event("checkout.session.completed", without(c.Session(), "currency")),
			"payment_intent.id":              c.Event("payment_intent.succeeded", without(c.PaymentIntent(), "id")),
			"charge.amount_refunded":         p.Event("charge.refunded", without(p.ChargeObject(), "amount_refunded")),
			"charge.currency":                p.Event("charge.refunded", without(p.ChargeObject(), "currency")),
			"refund.id":                      p.Event("refund.created", without(p.Refund("re_1", 1, "succeeded"), "id")),
			"refund.amount":                  p.Event("refund.created", without(p.Refund("re_1", 1, "succeeded"), "amount")),
			"refund.status":                  p.Event("refund.created", without(p.Refund("re_1", 1, "succeeded"), "status")),
			"refund.payment_intent":          p.Event("refund.created", without(p.Refund("re_1", 1, "succeeded"), "payment_intent", "charge")),
			"dispute.id":                     p.Event("charge.dispute.closed", without(p.Dispute(1, "lost"), "id")),
			"dispute.amount":                 p.Event("charge.dispute.closed", without(p.Dispute(1, "lost"), "amount")),
			"dispute.currency":               p.Event("charge.dispute.closed", without(p.Dispute(1, "lost"), "currency")),
			"dispute.status":                 p.Event("charge.dispute.closed", without(p.Dispute(1, "lost"), "status")),
			"dispute.payment_intent":         p.Event("charge.dispute.closed", without(p.Dispute(1, "lost"), "payment_intent", "charge")),
			"subscription.customer":          p.Event("customer.subscription.updated", without(p.SubscriptionObject("active"), "customer")),
			"promotion_code.active":          p.Event("promotion_code.updated", without(codeOf(p), "active")),
			"payment_intent.amount_received": c.Event("payment_intent.succeeded", without(c.PaymentIntent(), "amount_received")),
		} {
			_, err := Read(body)
			require.Equal(t, processor.MalformedError{Member: member}, err, fmt.Sprint(v))
		}
	}
}

func codeOf(p stripetest.Purchase) object {
	p.Promotion = "promo_1"
	return p.PromotionCode(true)
}

func without(of object, keys ...string) object {
	for _, k := range keys {
		delete(of, k)
	}
	return of
}

// FuzzRead reads any input, and returns a reading or the reason for none.
func FuzzRead(f *testing.F) {
	deep := `{"id":"e","type":"invoice.paid","livemode":true,"created":1767225600,"data":{"object":{"id":{"id":{"id":1}}}}}`
	lenient.Fuzz(f, Read, append(samples(), []byte(deep))...)
}
