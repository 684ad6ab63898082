package inbox_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/harness/stripetest"
	"rail/server/inbound/connection"
)

// Field case 9 (an invoice that was paid by bank transfer): it is a sale in every version of
// Stripe's API. Field case 22: a credit note that pays back by transfer lowers the sale, in
// addition to Stripe's refunds.
func TestStripeOutOfBand(t *testing.T) {
	t.Parallel()
	for _, v := range stripetest.Versions {
		h := newStriped(t)
		p := h.purchase(v, "oob")
		h.deliver(p.Event("checkout.session.completed", p.Session()))
		in := p.Invoice()
		if v == stripetest.Acacia { // the customer's balance paid 400
			in["paid_out_of_band"], in["amount_paid"], in["total"], in["charge"], in["payment_intent"] = true, 0, 2800, nil, nil
		}
		h.deliver(p.Event("invoice.paid", in))
		e := h.Last("recorded", nil)
		sale := func() []int64 {
			s := h.Get("/v1/sales/" + e.String("sale_id"))
			return []int64{s.Int("amount_minor"), s.Int("refunded_minor")}
		}
		require.Equal(t, []int64{2400, 0}, sale(), v)
		h.deliver(p.Event("invoice_payment.paid", p.InvoicePayment()))
		h.Clock.Advance(time.Hour)
		p.At = h.Clock.Now().Time
		note := M{"id": "cn_1", "invoice": in["id"], "status": "issued", "currency": "usd", "out_of_band_amount": 500,
			"type": "post_payment", "refunds": []any{}}
		level := func(n int64) []byte {
			p := p
			p.Refunded = n
			charge := p.ChargeObject()
			charge["invoice"] = in["id"] // as before basil; later versions have it in the payment's event
			return p.Event("charge.refunded", charge, fmt.Sprint(n))
		}
		h.deliver(level(300))
		h.Last("recorded", nil)
		h.deliver(p.Event("credit_note.created", note))
		h.Last("recorded", nil)
		h.deliver(p.Event("credit_note.updated", note))
		h.Last("ignored", "already_recorded")
		require.Equal(t, []int64{1600, 800}, sale(), v)
		h.deliver(level(900))
		h.Last("recorded", nil)
		require.Equal(t, []int64{1000, 1400}, sale(), "the credit note is no part of what Stripe refunded")
		apitest.Balanced(t, h.Server)
	}
}

// The payment intent of an invoice is stored with its sale, whichever event comes first.
func TestStripeIntentOfInvoice(t *testing.T) {
	t.Parallel()
	for _, v := range []stripetest.Version{stripetest.Basil, stripetest.Clover} {
		h := newStriped(t)
		for i, order := range [][]int{{0, 1}, {1, 0}} {
			p := h.purchase(v, fmt.Sprint("intent", i))
			h.deliver(p.Event("checkout.session.completed", p.Session()))
			events := [][]byte{p.Event("invoice.paid", p.Invoice()), p.Event("invoice_payment.paid", p.InvoicePayment())}
			for _, at := range order {
				h.deliver(events[at])
				h.Work()
			}
			h.Work()
			s := h.Get("/v1/sales?external_charge_id=" + p.Charge() + "&program_id=" + h.ProgramID).Data()
			require.Len(t, s, 1)
			require.Equal(t, p.Intent(), s[0]["external_payment_intent_id"], "%v %v", v, order)
		}
		for _, e := range h.Get("/v1/inbox_events?type=invoice_payment.paid&program_id=" + h.ProgramID).Data() {
			require.Equal(t, "recorded", e["status"])
			h.Must(200, h.Post("/v1/inbox_events/"+e["id"].(string)+"/replay", nil))
		}
		for _, e := range h.Work() {
			require.Equal(t, "recorded", e.Body["status"], "worked again: %v", e.Body)
		}
	}
}

// Field case 18. A test connection uses the time of Stripe's test clock: a flow of "20 % for 2
// months, then 1 %" gets four renewals a month apart, all in the future of the server's clock. A
// live connection dates them now.
func TestStripeTestClock(t *testing.T) {
	t.Parallel()
	for _, live := range []bool{false, true} {
		h := newStriped(t, func(in *connection.Input) { in.Live = live })
		h.Must(200, h.Post("/v1/programs/"+h.ProgramID, M{"holding_period_days": 30}))
		flow := h.Get("/v1/flows?program_id=" + h.ProgramID).Data()[0]["id"].(string)
		h.Must(200, h.Post("/v1/flows/"+flow, M{"branches": []any{
			apitest.Branch(2000, apitest.Condition("customer.months_since_conversion", "lt", 2)), apitest.Branch(100),
		}}))
		p := h.purchase(stripetest.Acacia, "clock")
		p.Live = live
		h.deliver(p.Event("checkout.session.completed", p.Session()))
		h.Work()
		now := h.Clock.Now()
		var got []int64
		for month := range 4 {
			p.At, p.Name = now.AddDate(0, month+1, 0), fmt.Sprint("clock", month)
			h.deliver(p.Event("invoice.paid", p.Invoice()))
			e := h.Last("recorded", nil)
			s := h.Get("/v1/sales/" + e.String("sale_id"))
			want := p.At.UTC().Format("2006-01")
			if live {
				want = now.UTC().Format("2006-01")
			}
			require.Equal(t, want, s.String("occurred_at")[:7])
			k := h.Get("/v1/commissions?sale_id=" + e.String("sale_id") + "&program_id=" + h.ProgramID).Data()
			got = append(got, apitest.Answer{Body: k[0]}.Int("amount_minor"))
		}
		want := []int64{480, 480, 24, 24}
		if live {
			want = []int64{480, 480, 480, 480}
		}
		require.Equal(t, want, got)
		p.Refunded = 2400
		h.deliver(p.Event("charge.refunded", p.ChargeObject()))
		h.Last("recorded", nil)
		apitest.Balanced(t, h.Server)
		h.ahead(live)
	}
}

// ahead requires that reports count the sales on their days, now and after some of these days, and
// that no commission matures before its time.
func (h inboxed) ahead(live bool) {
	h.T.Helper()
	months := func() (sales []int64) {
		for _, r := range h.Get("/v1/reports?dimension=period&granularity=month&from=2026-09-01&to=2027-01-31&program_id=" +
			h.ProgramID).Body["rows"].([]any) {
			sales = append(sales, apitest.Answer{Body: r.(M)}.Int("sales"))
		}
		return sales
	}
	want := []int64{0, 1, 1, 1, 1}
	if live {
		want = []int64{4, 0, 0, 0, 0}
	}
	require.Equal(h.T, want, months())
	for range 3 {
		h.Clock.Advance(33 * 24 * time.Hour)
		for _, job := range []string{"mature-commissions", "sum-reports", "fold-balances"} {
			apitest.RunJob(h.T, h.Server, job)
		}
		apitest.Balanced(h.T, h.Server)
		require.Equal(h.T, want, months())
		for _, d := range h.Get("/v1/commissions?limit=100&status=due&program_id=" + h.ProgramID).Data() {
			require.LessOrEqual(h.T, d["mature_at"], h.Clock.Now().String())
		}
	}
	due := map[bool]int{false: 2, true: 3}[live]
	require.Len(h.T, h.Get("/v1/commissions?limit=100&status=due&program_id="+h.ProgramID).Data(), due)
}

// TestStripeManualCapture: a checkout authorizes a payment, and the merchant captures a part of it later. The captured
// amount is a sale of the checkout's customer, also if the connection records checkouts and invoices only.
func TestStripeManualCapture(t *testing.T) {
	t.Parallel()
	for _, outside := range []bool{false, true} {
		for _, v := range stripetest.Versions {
			h := newStriped(t, func(in *connection.Input) { in.OutsideCheckout = outside })
			p := h.purchase(v, "held")
			p.Customer, p.Subscription, p.Invoiced, p.Tax = "", false, false, 400
			checkout := p.Session()
			checkout["payment_status"] = "unpaid"
			h.deliver(p.Event("checkout.session.completed", checkout))
			e := h.Last("waiting", "unknown_sale")
			require.Equal(t, "The payment is not complete: a later event reports it.", e.String("reason"))
			require.Zero(t, h.Total("sales"))
			h.Clock.Advance(3 * 24 * time.Hour)
			p.At = h.Clock.Now().Time
			captured := p.PaymentIntent()
			captured["capture_method"], captured["amount_received"] = "manual", 1200
			h.deliver(p.Event("payment_intent.succeeded", captured))
			paid := h.Last("recorded", nil)
			require.Equal(t, e.String("customer_id"), paid.String("customer_id"))
			s := h.Get("/v1/sales/" + paid.String("sale_id"))
			require.Equal(t, []any{"pi_held", int64(1200), int64(200), h.PartnerID}, []any{
				s.String("external_charge_id"), s.Int("amount_minor"), s.Int("tax_minor"), s.String("partner_id"),
			})
			first := h.Work()[0]
			require.Equal(t, "recorded", first.String("status"), "it waits no longer")
			require.Equal(t, paid.Body["sale_id"], first.Body["sale_id"])
			h.deliver(p.Event("payment_intent.succeeded", captured, "_again"))
			h.Last("ignored", "already_recorded")
			require.EqualValues(t, 1, h.Total("sales"))
			apitest.Balanced(t, h.Server)
		}
	}
}

// TestStripeCaptureFirst: the captured payment arrives before its checkout. A captured payment without a checkout is
// ignored.
func TestStripeCaptureFirst(t *testing.T) {
	t.Parallel()
	h := newStriped(t)
	for _, name := range []string{"first", "none"} {
		p := h.purchase(stripetest.Clover, name)
		p.Subscription, p.Invoiced = false, false
		captured := p.PaymentIntent()
		captured["capture_method"] = "manual"
		h.deliver(p.Event("payment_intent.succeeded", captured))
		h.Last("ignored", "not_used")
		if name == "first" {
			checkout := p.Session()
			checkout["payment_status"] = "unpaid"
			h.deliver(p.Event("checkout.session.completed", checkout))
		}
		h.Work()
		h.Clock.Advance(2 * time.Minute)
		h.Work()
	}
	sales := h.Get("/v1/sales?program_id=" + h.ProgramID).Data()
	require.Len(t, sales, 1)
	require.Equal(t, "pi_first", sales[0]["external_charge_id"])
}

// TestStripeDelayedPayment: a delayed method of payment reports its success twice, in either order. The payment is
// recorded once, from the checkout.
func TestStripeDelayedPayment(t *testing.T) {
	t.Parallel()
	for _, outside := range []bool{false, true} {
		h := newStriped(t, func(in *connection.Input) { in.OutsideCheckout = outside })
		for i, order := range orders(2) {
			p := h.purchase(stripetest.Clover, fmt.Sprint("debit", i))
			p.Subscription, p.Invoiced, p.Tax = false, false, 400
			begun := p.Session()
			begun["payment_status"] = "unpaid"
			h.deliver(p.Event("checkout.session.completed", begun))
			h.Last("waiting", "unknown_sale")
			bodies := [][]byte{
				p.Event("checkout.session.async_payment_succeeded", p.Session()),
				p.Event("payment_intent.succeeded", p.PaymentIntent()),
			}
			for _, at := range order {
				h.deliver(bodies[at])
				h.Work()
			}
			h.Clock.Advance(2 * time.Minute)
			for _, e := range h.Work() {
				require.Contains(t, []any{"recorded", "ignored"}, e.Body["status"], "%v", e.Body)
			}
			s := h.Get("/v1/sales?external_charge_id=" + p.Charge() + "&program_id=" + h.ProgramID).Data()
			require.Len(t, s, 1)
			require.EqualValues(t, 400, apitest.Answer{Body: s[0]}.Int("tax_minor"))
		}
		require.EqualValues(t, 2, h.Total("sales"))
		apitest.Balanced(t, h.Server)
	}
}
