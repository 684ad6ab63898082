package handlers_test

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
		e := h.last("recorded", nil)
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
		h.last("recorded", nil)
		h.deliver(p.Event("credit_note.created", note))
		h.last("recorded", nil)
		h.deliver(p.Event("credit_note.updated", note))
		h.last("ignored", "already_recorded")
		require.Equal(t, []int64{1600, 800}, sale(), v)
		h.deliver(level(900))
		h.last("recorded", nil)
		require.Equal(t, []int64{1000, 1400}, sale(), "the credit note is no part of what Stripe refunded")
		balanced(t, h.Server)
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
				h.work()
			}
			h.work()
			s := h.Get("/v1/sales?external_charge_id=" + p.Charge() + "&program_id=" + h.program).Data()
			require.Len(t, s, 1)
			require.Equal(t, p.Intent(), s[0]["external_payment_intent_id"], "%v %v", v, order)
		}
		for _, e := range h.Get("/v1/inbox_events?type=invoice_payment.paid&program_id=" + h.program).Data() {
			require.Equal(t, "recorded", e["status"])
			h.Must(200, h.Post("/v1/inbox_events/"+e["id"].(string)+"/replay", nil))
		}
		for _, e := range h.work() {
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
		h.Must(200, h.Post("/v1/programs/"+h.program, M{"holding_period_days": 30}))
		flow := h.Get("/v1/flows?program_id=" + h.program).Data()[0]["id"].(string)
		h.Must(200, h.Post("/v1/flows/"+flow, M{"branches": []any{
			branchOf(2000, cond("customer.months_since_conversion", "lt", 2)), branchOf(100),
		}}))
		p := h.purchase(stripetest.Acacia, "clock")
		p.Live = live
		h.deliver(p.Event("checkout.session.completed", p.Session()))
		h.work()
		now := h.Clock.Now()
		var got []int64
		for month := range 4 {
			p.At, p.Name = now.AddDate(0, month+1, 0), fmt.Sprint("clock", month)
			h.deliver(p.Event("invoice.paid", p.Invoice()))
			e := h.last("recorded", nil)
			s := h.Get("/v1/sales/" + e.String("sale_id"))
			want := p.At.UTC().Format("2006-01")
			if live {
				want = now.UTC().Format("2006-01")
			}
			require.Equal(t, want, s.String("occurred_at")[:7])
			k := h.Get("/v1/commissions?sale_id=" + e.String("sale_id") + "&program_id=" + h.program).Data()
			got = append(got, apitest.Answer{Body: k[0]}.Int("amount_minor"))
		}
		want := []int64{480, 480, 24, 24}
		if live {
			want = []int64{480, 480, 480, 480}
		}
		require.Equal(t, want, got)
		p.Refunded = 2400
		h.deliver(p.Event("charge.refunded", p.ChargeObject()))
		h.last("recorded", nil)
		balanced(t, h.Server)
		h.ahead(live)
	}
}

// ahead requires that reports count the sales on their days, now and after some of these days, and
// that no commission matures before its time.
func (h inboxed) ahead(live bool) {
	h.t.Helper()
	months := func() (sales []int64) {
		for _, r := range h.Get("/v1/reports?dimension=period&granularity=month&from=2026-09-01&to=2027-01-31&program_id=" +
			h.program).Body["rows"].([]any) {
			sales = append(sales, apitest.Answer{Body: r.(M)}.Int("sales"))
		}
		return sales
	}
	want := []int64{0, 1, 1, 1, 1}
	if live {
		want = []int64{4, 0, 0, 0, 0}
	}
	require.Equal(h.t, want, months())
	for range 3 {
		h.Clock.Advance(33 * 24 * time.Hour)
		for _, job := range []string{"mature-commissions", "sum-reports", "fold-balances"} {
			runJob(h.t, h.Server, job)
		}
		balanced(h.t, h.Server)
		require.Equal(h.t, want, months())
		for _, d := range h.Get("/v1/commissions?limit=100&status=due&program_id=" + h.program).Data() {
			require.LessOrEqual(h.t, d["mature_at"], h.Clock.Now().String())
		}
	}
	due := map[bool]int{false: 2, true: 3}[live]
	require.Len(h.t, h.Get("/v1/commissions?limit=100&status=due&program_id="+h.program).Data(), due)
}
