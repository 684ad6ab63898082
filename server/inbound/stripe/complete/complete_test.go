package complete

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/stripetest"
	"rail/server/inbound/processor"
	"rail/server/inbound/stripe"
	"rail/server/inbound/stripe/client"
)

func serve(t *testing.T) (*stripetest.API, *client.Client) {
	t.Helper()
	api := &stripetest.API{}
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	return api, client.New("rk_test_1", server.URL).Once()
}

func purchase(v stripetest.Version) stripetest.Purchase {
	return stripetest.Purchase{
		Version: v, Name: "1", Live: true, At: time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC), Customer: "cus_1",
		Subscription: true, Invoiced: true, Amount: 2400, Currency: "usd", Email: "a@example.com",
	}
}

// TestInvoice: an invoice of every version has its payment, charge, interval, product and
// codes.
func TestInvoice(t *testing.T) {
	t.Parallel()
	for _, v := range stripetest.Versions {
		api, c := serve(t)
		p := purchase(v)
		p.Promotion, p.Coupon = "promo_1", "FALL"
		api.Add(p)
		in := p.Invoice()
		in["discounts"] = []any{"di_1"}
		body := p.Event("invoice.paid", in)
		plain, err := stripe.Read(body)
		require.NoError(t, err)
		r, err := Read(t.Context(), c, body, false)
		require.NoError(t, err)
		require.Equal(t, []any{"in_1", []string{"pi_1", "ch_1"}, "pi_1", "month", "prod_1", "Pro"}, []any{
			r.Payment.Charge, r.Payment.Alias, r.Payment.Intent, r.Payment.Interval, r.Payment.ProductID, r.Payment.ProductName,
		}, v)
		require.Equal(t, []string{"promo_1", "FALL"}, r.Payment.Coupon, v)
		require.Equal(t, []any{plain.Payment.AmountMinor, plain.Payment.TaxMinor, plain.Payment.At},
			[]any{r.Payment.AmountMinor, r.Payment.TaxMinor, r.Payment.At}, "what the event says stays")
		require.EqualValues(t, 120, *r.Payment.FeeMinor)
		require.Equal(t, []string{"/v1/invoices/in_1", "/v1/charges/ch_1", "/v1/products/prod_1"}, api.Asked())
	}
}

// TestOptOut: the customer's opt-out is read, although events have only the customer's id.
func TestOptOut(t *testing.T) {
	t.Parallel()
	api, c := serve(t)
	p := purchase(stripetest.Clover)
	whole := p
	whole.Metadata = stripetest.Object{"rail": "skip"}
	api.Add(whole)
	session := p
	session.Subscription, session.Invoiced = false, false
	for _, body := range [][]byte{
		p.Event("invoice.paid", p.Invoice()), p.Event("checkout.session.completed", session.Session()),
	} {
		r, err := Read(t.Context(), c, body, false)
		require.NoError(t, err)
		require.Nil(t, r.Payment)
		require.Equal(t, processor.OptedOut, r.Ignored)
	}
}

// TestSession: a checkout's product is in its lines, which events lack.
func TestSession(t *testing.T) {
	t.Parallel()
	api, c := serve(t)
	p := purchase(stripetest.Basil)
	p.Subscription, p.Invoiced = false, false
	api.Add(p)
	r, err := Read(t.Context(), c, p.Event("checkout.session.completed", p.Session()), false)
	require.NoError(t, err)
	require.Equal(t, processor.Link{Charge: "pi_1", Alias: []string{"ch_1", "cs_test_1"}}, r.Payment.Link)
	require.Equal(t, []string{"prod_1", "Pro"}, []string{r.Payment.ProductID, r.Payment.ProductName})
	require.EqualValues(t, 120, *r.Payment.FeeMinor)
	require.Equal(t, []string{"/v1/checkout/sessions/cs_test_1", "/v1/charges/ch_1"}, api.Asked())
}

// TestRefund: a single refund gets the level of its charge, and its invoice.
func TestRefund(t *testing.T) {
	t.Parallel()
	api, c := serve(t)
	p := purchase(stripetest.Basil)
	p.Refunded = 900
	api.Add(p)
	r, err := Read(t.Context(), c, p.Event("refund.updated", p.Refund("re_1", 400, "succeeded")), false)
	require.NoError(t, err)
	require.EqualValues(t, 900, r.Refund.LevelMinor)
	require.Equal(t, processor.Link{Charge: "pi_1", Alias: []string{"ch_1", "in_1"}}, r.Refund.Link)
	r, err = Read(t.Context(), c, p.Event("charge.refunded", p.ChargeObject()), false)
	require.NoError(t, err)
	require.Equal(t, processor.Link{Charge: "pi_1", Alias: []string{"ch_1", "in_1"}}, r.Refund.Link)
	api.Know(p.Dispute(500, "lost"))
	r, err = Read(t.Context(), c, p.Event("charge.dispute.closed", p.Dispute(500, "lost")), false)
	require.NoError(t, err)
	require.Contains(t, r.Dispute.Alias, "in_1")
}

// TestOutside: a payment outside Checkout that paid an invoice belongs to the invoice.
func TestOutside(t *testing.T) {
	t.Parallel()
	api, c := serve(t)
	p := purchase(stripetest.Clover)
	api.Add(p)
	body := p.Event("payment_intent.succeeded", p.PaymentIntent())
	r, err := Read(t.Context(), c, body, true)
	require.NoError(t, err)
	require.Nil(t, r.Payment)
	require.Equal(t, processor.Link{Charge: "in_1", Alias: []string{"pi_1", "ch_1"}}, r.Link)
	require.Equal(t, "cus_1", r.Binding.Customer)
	api.Asked()
	r, err = Read(t.Context(), c, body, false)
	require.NoError(t, err)
	require.NotNil(t, r.Payment)
	require.Empty(t, api.Asked(), "it is not recorded, so that nothing depends on it")
}

// TestNotAsked: complete events cause no requests, and refusals are returned.
func TestNotAsked(t *testing.T) {
	t.Parallel()
	api, c := serve(t)
	p := purchase(stripetest.Clover)
	p.Promotion = "promo_1"
	skipped := p.Invoice()
	skipped["metadata"] = stripetest.Object{"rail": "skip"}
	for kind, object := range map[string]stripetest.Object{
		"customer.updated": p.CustomerObject(), "customer.subscription.updated": p.SubscriptionObject("active"),
		"promotion_code.updated": p.PromotionCode(true), "invoice.paid": skipped, "invoice_payment.paid": p.InvoicePayment(),
	} {
		body := p.Event(kind, object)
		plain, _ := stripe.Read(body)
		r, err := Read(t.Context(), c, body, true)
		require.NoError(t, err)
		require.Equal(t, plain, r, kind)
	}
	_, err := Read(t.Context(), c, []byte(`{"id":1}`), true)
	require.ErrorAs(t, err, new(processor.MalformedError))
	require.Empty(t, api.Asked())
	for status, refused := range map[int]bool{http.StatusForbidden: true, http.StatusNotFound: true, http.StatusNotImplemented: false} {
		api.Answer(status)
		_, err = Read(t.Context(), c, p.Event("invoice.paid", p.Invoice()), true)
		require.Equal(t, refused, client.Refused(err), status)
		require.Error(t, err)
	}
}
