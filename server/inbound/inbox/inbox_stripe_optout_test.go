package inbox_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/harness/stripetest"
	"rail/server/inbound/connection"
)

// TestStripeOptOut: an opt-out in the metadata of a customer or a checkout also applies to events
// without the metadata, until the customer's metadata changes.
func TestStripeOptOut(t *testing.T) {
	t.Parallel()
	h := newStriped(t, func(in *connection.Input) { in.OutsideCheckout = true })
	p := h.purchase(stripetest.Clover, "known")
	marked, paidAt := p, p.At
	says := func(at time.Time, more M) {
		marked.At, marked.Metadata = at, more
		h.deliver(marked.Event("customer.updated", marked.CustomerObject(), at.String()))
		h.Work()
	}
	says(paidAt, M{"rail": "skip"})
	says(paidAt.Add(-time.Minute), nil) // an older state that arrives later
	h.deliver(p.Event("customer.subscription.created", p.SubscriptionObject("active")))
	h.Last("ignored", "opted_out")
	h.deliver(p.Event("invoice.paid", p.Invoice()))
	h.Last("ignored", "opted_out")
	says(paidAt.Add(time.Second), nil)
	again := p
	again.Name = "again"
	h.deliver(again.Event("checkout.session.completed", again.Session()))
	h.deliver(again.Event("invoice.paid", again.Invoice()))
	h.Last("recorded", nil)

	shop := h.purchase(stripetest.Clover, "shop")
	shop.Customer, shop.Subscription, shop.Invoiced = "", false, false
	shop.Metadata = M{"rail": "skip"}
	h.deliver(shop.Event("checkout.session.completed", shop.Session()))
	h.Last("ignored", "opted_out")
	shop.Metadata = M{"rail_click": shop.Reference}
	h.deliver(shop.Event("payment_intent.succeeded", shop.PaymentIntent()))
	h.Last("ignored", "opted_out")
	shop.Refunded = 100
	h.deliver(shop.Event("charge.refunded", shop.ChargeObject()))
	h.Last("ignored", "opted_out")
	require.EqualValues(t, 1, h.Total("sales"))
}

// TestStripeTwoDisputes: each dispute of a customer has a separate flag.
func TestStripeTwoDisputes(t *testing.T) {
	t.Parallel()
	h := newStriped(t)
	first := h.purchase(stripetest.Clover, "one")
	second := first
	second.Name = "two"
	for _, p := range []stripetest.Purchase{first, second} {
		h.deliver(p.Event("checkout.session.completed", p.Session()))
		h.deliver(p.Event("invoice.paid", p.Invoice()))
		h.deliver(p.Event("invoice_payment.paid", p.InvoicePayment()))
		h.Work()
		h.deliver(p.Event("charge.dispute.created", p.Dispute(2400, "needs_response")))
		h.Last("recorded", nil)
	}
	open := func() []M { return h.Get("/v1/risk_flags?status=open&program_id=" + h.ProgramID).Data() }
	require.Len(t, open(), 2)
	h.deliver(first.Event("charge.dispute.closed", first.Dispute(2400, "won")))
	h.Last("recorded", nil)
	require.Len(t, open(), 1)
	require.Equal(t, "dp_two", open()[0]["evidence"].(M)["dispute_id"])
}

// TestStripeGuestsAtOnce processes two payments of one guest at the same time. Both belong to one
// customer.
func TestStripeGuestsAtOnce(t *testing.T) {
	t.Parallel()
	h := newStriped(t)
	const guests = 8
	for i := range guests {
		for _, which := range []string{"a", "b"} {
			p := h.purchase(stripetest.Clover, fmt.Sprint(which, i))
			p.Customer, p.Subscription, p.Invoiced, p.Email = "", false, false, fmt.Sprintf("guest%d@example.com", i)
			h.deliver(p.Event("checkout.session.completed", p.Session()))
		}
	}
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() { apitest.RunJob(t, h.Server, "work-inbox") })
	}
	workers.Wait()
	h.drain()
	require.Equal(t, []int64{2 * guests, guests}, []int64{h.Total("sales"), h.Total("customers")})
	apitest.Balanced(t, h.Server)
}

// TestStripeForeignRefundID: a refund id from the merchant that looks like that of a refunded total
// belongs to an ordinary refund.
func TestStripeForeignRefundID(t *testing.T) {
	t.Parallel()
	h := newStriped(t)
	p := h.purchase(stripetest.Clover, "f")
	h.deliver(p.Event("checkout.session.completed", p.Session()))
	h.deliver(p.Event("invoice.paid", p.Invoice()))
	h.deliver(p.Event("invoice_payment.paid", p.InvoicePayment()))
	sale := apitest.Answer{Body: h.Work()[1].Body}.String("sale_id")
	h.Must(200, h.Post("/v1/sales/"+sale+"/refund", M{"amount_minor": 100, "external_refund_id": "in_f@2000"}))
	p.Refunded = 900
	h.deliver(p.Event("charge.refunded", p.ChargeObject()))
	h.Last("recorded", nil)
	require.EqualValues(t, 900, h.Get("/v1/sales/"+sale).Int("refunded_minor"))
	apitest.Balanced(t, h.Server)
}
