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

const stripeSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// newStriped is a program that is connected to Stripe.
func newStriped(t *testing.T, options ...func(*connection.Input)) inboxed {
	t.Helper()
	return newInboxed(t, append([]func(*connection.Input){func(in *connection.Input) {
		in.Processor, in.Secret = connection.Stripe, stripeSecret
	}}, options...)...)
}

// deliver sends an event as Stripe does.
func (h inboxed) deliver(body []byte) { h.T.Helper(); h.Connection.SendStripe(body, stripeSecret) }

// purchase returns a subscription's first payment, whose checkout had a click.
func (h inboxed) purchase(v stripetest.Version, name string) stripetest.Purchase {
	return stripetest.Purchase{
		Version: v, Name: name, Live: true, At: h.Clock.Now().Time, Customer: "cus_" + name, Subscription: true,
		Invoiced: true, Amount: 2400, Currency: "usd", Email: name + "@buyers.example",
		Reference: h.Click(h.ProgramID, "ann").String("id"),
	}
}

// orders returns every order of 0 to n-1.
func orders(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var all [][]int
	for _, shorter := range orders(n - 1) {
		for at := range n {
			one := append(append(append([]int{}, shorter[:at]...), n-1), shorter[at:]...)
			all = append(all, one)
		}
	}
	return all
}

// TestStripeInEveryOrder delivers a checkout, its invoice, their payment, a refund and a lost
// dispute in each of their 120 orders, twice each. The remaining amounts of the sale and its
// commission are the same in every order, also if the program records unattributed payments.
func TestStripeInEveryOrder(t *testing.T) {
	t.Parallel()
	for _, v := range stripetest.Versions {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			inEveryOrder(t, v)
		})
	}
	t.Run("direct", func(t *testing.T) {
		t.Parallel()
		inEveryOrder(t, stripetest.Clover, func(in *connection.Input) { in.RecordDirect, in.OutsideCheckout = true, true })
	})
}

func inEveryOrder(t *testing.T, v stripetest.Version, options ...func(*connection.Input)) {
	t.Helper()
	h := newStriped(t, options...)
	all := orders(5)
	bodies := make([][][]byte, len(all))
	for i := range all {
		p := h.purchase(v, fmt.Sprint("o", i))
		refunded := p
		refunded.Refunded = 900
		bodies[i] = [][]byte{
			p.Event("checkout.session.completed", p.Session()), p.Event("invoice.paid", p.Invoice()),
			p.Event("invoice_payment.paid", p.InvoicePayment()), refunded.Event("charge.refunded", refunded.ChargeObject()),
			p.Event("charge.dispute.closed", p.Dispute(1000, "lost")),
		}
	}
	for step := range 5 {
		for i, order := range all {
			h.deliver(bodies[i][order[step]])
		}
		h.deliver(bodies[0][all[0][0]])
		apitest.RunJob(t, h.Server, "work-inbox")
	}
	var sales, wrong, flags, unworked, events int
	require.NoError(t, h.Pool.QueryRow(t.Context(), `SELECT
		(SELECT count(*) FROM sales), (SELECT count(*) FROM sales WHERE amount_minor <> 500 OR refunded_minor <> 1900
			OR external_charge_id !~ '^in_' OR partner_id IS DISTINCT FROM $1),
		(SELECT count(*) FROM risk_flags WHERE kind = 'dispute' AND status = 'resolved' AND resolution_note ~ 'lost'),
		(SELECT count(*) FROM inbox_events WHERE status NOT IN ('recorded', 'ignored')),
		(SELECT count(*) FROM inbox_events)`, h.PartnerID).Scan(&sales, &wrong, &flags, &unworked, &events))
	require.Equal(t, []int{120, 0, 120, 0, 600}, []int{sales, wrong, flags, unworked, events})
	var owed int64
	require.NoError(t, h.Pool.QueryRow(t.Context(), `SELECT sum(amount_minor) FROM commissions`).Scan(&owed))
	require.EqualValues(t, 120*100, owed, "20 % of what remains")
	apitest.Balanced(t, h.Server)
}

// TestStripePayments sends payments of every kind and checks their outcome.
func TestStripePayments(t *testing.T) {
	t.Parallel()
	for _, v := range stripetest.Versions {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			h := newStriped(t)
			h.Must(201, h.Post("/v1/coupons", M{
				"program_id": h.ProgramID, "code": "ANN", "partner_id": h.PartnerID, "external_id": "promo_1",
			}))
			guest := h.purchase(v, "guest")
			guest.Customer, guest.Subscription, guest.Invoiced, guest.Tax = "", false, false, 400
			h.deliver(guest.Event("checkout.session.completed", guest.Session()))
			e := h.Last("recorded", nil)
			s := h.Must(200, h.Get("/v1/sales/"+e.String("sale_id")))
			require.Equal(t, []any{"pi_guest", int64(400), "one_time", "stripe"}, []any{
				s.String("external_charge_id"), s.Int("tax_minor"), s.String("billing_type"), s.String("processor"),
			})
			h.deliver(guest.Event("payment_intent.succeeded", guest.PaymentIntent()))
			require.Contains(t, []string{"not_used", "already_recorded"}, h.Last("ignored", h.code()).String("reason_code"))

			code := h.purchase(v, "code")
			code.Reference, code.Promotion, code.Coupon = "", "promo_1", "FALL"
			h.deliver(code.Event("checkout.session.completed", code.Session()))
			k := h.Must(200, h.Get("/v1/customers/"+h.Last("recorded", nil).String("customer_id")))
			require.Equal(t, []any{"cus_code", "coupon", "promotion_code"}, []any{
				k.String("external_customer_id"), k.String("tracked_by"), k.Body["attribution"].(M)["rule"],
			})
			h.deliver(code.Event("customer.subscription.created", code.SubscriptionObject("trialing")))
			h.Last("recorded", nil)
			trial := code.Invoice()
			trial["amount_paid"] = 0
			h.deliver(code.Event("invoice.paid", trial, "_trial"))
			h.Last("ignored", "zero_amount")
			require.Equal(t, "trial", h.Get("/v1/customers/"+k.String("id")).String("status"))
			h.deliver(code.Event("invoice.paid", code.Invoice()))
			sale := h.Last("recorded", nil).String("sale_id")
			require.Equal(t, "active", h.Get("/v1/customers/"+k.String("id")).String("status"))
			h.deliver(code.Event("invoice.payment_succeeded", code.Invoice()))
			require.Equal(t, sale, h.Last("ignored", "already_recorded").String("sale_id"))
			h.deliver(code.Event("customer.subscription.updated", code.SubscriptionObject("trialing"), "_late"))
			h.Last("ignored", "binds_only")
			h.deliver(code.Event("customer.subscription.deleted", code.SubscriptionObject("canceled")))
			h.Last("recorded", nil)
			h.deliver(code.Event("promotion_code.updated", code.PromotionCode(false)))
			h.Last("recorded", nil)
			require.Equal(t, false, h.Get("/v1/coupons?program_id=" + h.ProgramID).Data()[0]["active"])

			skip := h.purchase(v, "skip")
			skip.Metadata = M{"rail": "skip"}
			h.deliver(skip.Event("invoice.paid", skip.Invoice()))
			h.Last("ignored", "opted_out")
			nobody := h.purchase(v, "nobody")
			h.deliver(nobody.Event("invoice.paid", nobody.Invoice()))
			h.Last("ignored", "no_partner")
			test := h.purchase(v, "test")
			test.Live = false
			h.deliver(test.Event("invoice.paid", test.Invoice()))
			h.Last("ignored", "test_event")
			broken := nobody.Invoice()
			delete(broken, "amount_paid")
			h.deliver(nobody.Event("invoice.paid", broken, "_broken"))
			require.Contains(t, h.Last("failed", "malformed").String("reason"), "invoice.amount_paid")
			require.EqualValues(t, 2, h.Total("sales"))
			apitest.Balanced(t, h.Server)
		})
	}
}

// code returns the reason code of the newest event.
func (h inboxed) code() any {
	events := h.Work()
	return events[len(events)-1].Body["reason_code"]
}

// TestStripeRefunds: refunds and disputes of a sale never take back more than its amount, and an
// open dispute is flagged.
func TestStripeRefunds(t *testing.T) {
	t.Parallel()
	h := newStriped(t)
	p := h.purchase(stripetest.Clover, "r")
	h.deliver(p.Event("checkout.session.completed", p.Session()))
	h.deliver(p.Event("invoice.paid", p.Invoice()))
	h.deliver(p.Event("invoice_payment.paid", p.InvoicePayment()))
	h.Work()
	left := func() (left int64) {
		require.NoError(t, h.Pool.QueryRow(t.Context(),
			`SELECT CASE WHEN refunded_at IS NULL THEN amount_minor ELSE 0 END FROM sales`).Scan(&left))
		return left
	}
	level := func(n int64) {
		p := p
		p.Refunded = n
		h.deliver(p.Event("charge.refunded", p.ChargeObject(), fmt.Sprint(n)))
	}
	level(900)
	h.Last("recorded", nil)
	h.deliver(p.Event("refund.created", p.Refund("re_1", 900, "succeeded")))
	h.Last("ignored", "already_recorded")
	level(500)
	h.Last("ignored", "already_recorded")
	require.EqualValues(t, 1500, left())
	h.deliver(p.Event("refund.failed", p.Refund("re_1", 900, "failed")))
	h.Last("failed", "refund_failed")
	require.EqualValues(t, 1500, left())
	h.deliver(p.Event("charge.dispute.created", p.Dispute(2400, "needs_response")))
	h.Last("recorded", nil)
	flags := func() []M { return h.Get("/v1/risk_flags?program_id=" + h.ProgramID).Data() }
	require.Equal(t, []any{"dispute", "high", "open"}, []any{flags()[0]["kind"], flags()[0]["severity"], flags()[0]["status"]})
	h.deliver(p.Event("charge.dispute.updated", p.Dispute(2400, "under_review")))
	h.Last("ignored", "already_recorded")
	level(1000)
	h.Last("recorded", nil)
	h.deliver(p.Event("charge.dispute.closed", p.Dispute(2400, "lost")))
	h.Last("recorded", nil)
	require.EqualValues(t, 0, left())
	require.Equal(t, []any{"resolved", nil}, []any{flags()[0]["status"], flags()[0]["resolved_by"]})
	level(2400)
	h.Last("ignored", "nothing_left")
	apitest.Balanced(t, h.Server)

	won := h.purchase(stripetest.Basil, "w")
	won.Subscription, won.Invoiced = false, false
	h.deliver(won.Event("checkout.session.completed", won.Session()))
	h.Last("recorded", nil)
	h.deliver(won.Event("charge.dispute.closed", won.Dispute(2400, "won")))
	h.Last("recorded", nil)
	h.deliver(won.Event("charge.dispute.created", won.Dispute(2400, "needs_response")))
	h.Last("ignored", "already_recorded")
	for _, f := range flags() {
		require.Equal(t, "resolved", f["status"])
	}
}

// TestStripeOutside: a payment outside Stripe's checkout is recorded after a minute, if the
// connection allows it and the payment has no invoice.
func TestStripeOutside(t *testing.T) {
	t.Parallel()
	h := newStriped(t, func(in *connection.Input) { in.OutsideCheckout = true })
	own := h.purchase(stripetest.Clover, "own")
	own.NoSession, own.Subscription, own.Invoiced = true, false, false
	own.Metadata = M{"rail_click": own.Reference}
	h.deliver(own.Event("payment_intent.succeeded", own.PaymentIntent()))
	h.Last("waiting", "outside_checkout")
	bill := h.purchase(stripetest.Clover, "bill")
	h.deliver(bill.Event("payment_intent.succeeded", bill.PaymentIntent()))
	h.deliver(bill.Event("checkout.session.completed", bill.Session()))
	h.deliver(bill.Event("invoice_payment.paid", bill.InvoicePayment()))
	h.deliver(bill.Event("invoice.paid", bill.Invoice()))
	h.Work()
	require.EqualValues(t, 1, h.Total("sales"))
	apitest.RunJobAt(t, h.Server, "work-inbox", h.Clock.Now().Plus(61e9))
	require.EqualValues(t, 2, h.Total("sales"))
	apitest.Balanced(t, h.Server)
}

// drain processes the events that followed events of another worker, which are retried each second.
func (h inboxed) drain() {
	h.T.Helper()
	for range 5 {
		h.Clock.Advance(time.Second)
		apitest.RunJob(h.T, h.Server, "work-inbox")
	}
}

// TestStripeAtOnce delivers the events of one purchase concurrently, each several times, while
// several workers process the inbox.
func TestStripeAtOnce(t *testing.T) {
	t.Parallel()
	h := newStriped(t)
	p := h.purchase(stripetest.Clover, "x")
	refunded := p
	refunded.Refunded = 600
	var group sync.WaitGroup
	for range 4 {
		for _, body := range [][]byte{
			p.Event("checkout.session.completed", p.Session()), p.Event("invoice.paid", p.Invoice()),
			p.Event("invoice.payment_succeeded", p.Invoice()), p.Event("invoice_payment.paid", p.InvoicePayment()),
			refunded.Event("charge.refunded", refunded.ChargeObject()), p.Event("customer.created", p.CustomerObject()),
		} {
			group.Go(func() { h.deliver(body) })
		}
		group.Go(func() { apitest.RunJob(t, h.Server, "work-inbox") })
	}
	group.Wait()
	h.drain()
	require.Len(t, h.Work(), 6)
	var left int64
	require.NoError(t, h.Pool.QueryRow(t.Context(), `SELECT sum(amount_minor) FROM sales`).Scan(&left))
	require.EqualValues(t, 1800, left)
	commission := apitest.Answer{Body: h.Get("/v1/commissions?program_id=" + h.ProgramID).Data()[0]}
	require.EqualValues(t, 360, commission.Int("amount_minor"))
	apitest.Balanced(t, h.Server)
}

// TestStripeInOneBatch processes the events of many purchases, in every order, with several workers
// at once. No event keeps waiting for another that arrived at the same moment.
func TestStripeInOneBatch(t *testing.T) {
	t.Parallel()
	h := newStriped(t)
	for i, order := range orders(4) {
		p := h.purchase(stripetest.Versions[i%3], fmt.Sprint("b", i))
		refunded := p
		refunded.Refunded = 900
		bodies := [][]byte{
			p.Event("invoice.paid", p.Invoice()), p.Event("invoice_payment.paid", p.InvoicePayment()),
			refunded.Event("charge.refunded", refunded.ChargeObject()),
			p.Event("charge.dispute.closed", p.Dispute(1000, "lost")),
		}
		h.deliver(p.Event("checkout.session.completed", p.Session()))
		for _, at := range order {
			h.deliver(bodies[at])
		}
	}
	var workers sync.WaitGroup
	for range 3 {
		workers.Go(func() { apitest.RunJob(t, h.Server, "work-inbox") })
	}
	workers.Wait()
	h.drain()
	var sales, whole, left int
	require.NoError(t, h.Pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM sales),
		(SELECT count(*) FROM sales WHERE refunded_minor <> 1900),
		(SELECT count(*) FROM inbox_events WHERE status IN ('pending', 'waiting', 'failed'))`).Scan(&sales, &whole, &left))
	require.Equal(t, []int{24, 0, 0}, []int{sales, whole, left})
	apitest.Balanced(t, h.Server)
}

// TestStripeTrialBeforeCheckout: the event of a subscription arrives before the checkout that names
// the customer's partner.
func TestStripeTrialBeforeCheckout(t *testing.T) {
	t.Parallel()
	h := newStriped(t)
	p := h.purchase(stripetest.Clover, "t")
	h.deliver(p.Event("customer.subscription.created", p.SubscriptionObject("trialing")))
	h.Last("ignored", "binds_only")
	h.deliver(p.Event("checkout.session.completed", p.Session()))
	h.Last("recorded", nil)
	first := h.Work()[0]
	require.Equal(t, "recorded", first.String("status"))
	k := h.Get("/v1/customers/" + first.String("customer_id"))
	require.Equal(t, []any{"trial", "sub_t"}, []any{k.String("status"), k.Body["external_subscription_id"]})
	renewal := p
	renewal.Name = "t2"
	h.deliver(renewal.Event("invoice.paid", renewal.Invoice()))
	h.Last("recorded", nil)
	require.Equal(t, "sub_t2", h.Get("/v1/customers/" + k.String("id")).Body["external_subscription_id"])
}

// TestStripeReplacedSubscription: the end of a subscription that another one replaced leaves the customer active. The
// end of the current one does not.
func TestStripeReplacedSubscription(t *testing.T) {
	t.Parallel()
	h := newStriped(t)
	old := h.purchase(stripetest.Clover, "old")
	h.deliver(old.Event("checkout.session.completed", old.Session()))
	h.deliver(old.Event("invoice.paid", old.Invoice()))
	k := h.Last("recorded", nil).String("customer_id")
	upgrade := old
	upgrade.Name = "upgrade"
	h.deliver(upgrade.Event("customer.subscription.created", upgrade.SubscriptionObject("active")))
	h.Work()
	status := func() []any {
		c := h.Get("/v1/customers/" + k)
		return []any{c.Body["status"], c.Body["external_subscription_id"]}
	}
	h.deliver(old.Event("customer.subscription.deleted", old.SubscriptionObject("canceled")))
	h.Last("ignored", "binds_only")
	require.Equal(t, []any{"active", "sub_upgrade"}, status())
	h.deliver(upgrade.Event("customer.subscription.deleted", upgrade.SubscriptionObject("canceled")))
	h.Last("recorded", nil)
	require.Equal(t, []any{"cancelled", "sub_upgrade"}, status())
}

// TestStripeLastUseOfCode: the last use of a code disables it at once. The payment of that use
// arrives later.
func TestStripeLastUseOfCode(t *testing.T) {
	t.Parallel()
	h := newStriped(t)
	h.Must(201, h.Post("/v1/coupons", M{
		"program_id": h.ProgramID, "code": "ANN", "partner_id": h.PartnerID, "external_id": "promo_1",
	}))
	p := h.purchase(stripetest.Clover, "l")
	p.Reference, p.Promotion, p.Coupon, p.Invoiced, p.Subscription = "", "promo_1", "FALL", false, false
	h.deliver(p.Event("promotion_code.updated", p.PromotionCode(false)))
	h.Last("recorded", nil)
	h.deliver(p.Event("checkout.session.completed", p.Session()))
	sale := h.Get("/v1/sales/" + h.Last("recorded", nil).String("sale_id"))
	require.Equal(t, h.PartnerID, sale.String("partner_id"))
	apitest.Balanced(t, h.Server)
}

// soldBy requires that the sale of the last event has this partner, or none if nil.
func (h inboxed) soldBy(partner any) apitest.Answer {
	h.T.Helper()
	sale := h.Get("/v1/sales/" + h.Last("recorded", nil).String("sale_id"))
	require.Equal(h.T, partner, sale.Body["partner_id"])
	return sale
}

// TestStripeDirectBeforeCheckout: an unattributed payment waits a minute for its checkout, even if
// the customer bought before. If a later checkout names a partner for a customer recorded without
// one, the customer and its next payments belong to that partner.
func TestStripeDirectBeforeCheckout(t *testing.T) {
	t.Parallel()
	h := newStriped(t, func(in *connection.Input) { in.RecordDirect = true })
	p := h.purchase(stripetest.Clover, "d")
	h.deliver(p.Event("invoice.paid", p.Invoice()))
	h.Last("waiting", "unknown_customer")
	h.Clock.Advance(59 * time.Second)
	h.Last("waiting", "unknown_customer")
	h.Clock.Advance(time.Second)
	k := h.soldBy(nil).String("customer_id")

	renewal := p
	renewal.Name = "d1"
	invoice := renewal.Invoice()
	invoice["billing_reason"] = "subscription_cycle"
	h.deliver(renewal.Event("invoice.paid", invoice))
	h.soldBy(nil)

	again := p
	again.Name = "d2"
	h.deliver(again.Event("invoice.paid", again.Invoice()))
	h.Last("waiting", "unknown_customer")
	h.deliver(again.Event("checkout.session.completed", again.Session()))
	require.Equal(t, k, h.Last("recorded", nil).String("customer_id"))
	require.Equal(t, h.PartnerID, h.Get("/v1/sales?external_charge_id=in_d2&program_id=" + h.ProgramID).Data()[0]["partner_id"])
	require.Equal(t, "click", h.Get("/v1/customers/" + k).Body["attribution"].(M)["rule"])

	for _, order := range orders(2) { // a checkout without a partner ends the wait
		own := h.purchase(stripetest.Acacia, fmt.Sprint("own", order[0]))
		own.Reference = ""
		for _, at := range order {
			h.deliver([][]byte{
				own.Event("checkout.session.completed", own.Session()), own.Event("invoice.paid", own.Invoice()),
			}[at])
			h.Work()
		}
		require.Nil(t, h.Get("/v1/sales?external_charge_id=" + own.Charge() + "&program_id=" + h.ProgramID).Data()[0]["partner_id"])
	}

	late := h.purchase(stripetest.Basil, "late")
	h.deliver(late.Event("invoice.paid", late.Invoice()))
	h.Clock.Advance(time.Minute)
	h.soldBy(nil)
	h.deliver(late.Event("checkout.session.completed", late.Session()))
	h.Last("recorded", nil)
	late.Name = "late2"
	h.deliver(late.Event("invoice.paid", late.Invoice()))
	h.soldBy(h.PartnerID)
	apitest.Balanced(t, h.Server)
}

// TestStripeInvoiceAfterOutside: a payment may be recorded after its minute, before any event shows
// that it belongs to an invoice. The invoice does not record it again. If the invoice was recorded
// first, the inbox reports the duplicate.
func TestStripeInvoiceAfterOutside(t *testing.T) {
	t.Parallel()
	h := newStriped(t, func(in *connection.Input) { in.OutsideCheckout = true })
	for i, late := range []bool{false, true} {
		p := h.purchase(stripetest.Clover, fmt.Sprint("a", i))
		h.deliver(p.Event("checkout.session.completed", p.Session()))
		h.deliver(p.Event("payment_intent.succeeded", p.PaymentIntent()))
		h.Last("waiting", "outside_checkout")
		h.Clock.Advance(61 * time.Second)
		sale := h.Last("recorded", nil).String("sale_id")
		if late {
			h.deliver(p.Event("invoice.paid", p.Invoice()))
			h.Last("recorded", nil)
			h.deliver(p.Event("invoice_payment.paid", p.InvoicePayment()))
			h.Last("failed", "recorded_twice")
			continue
		}
		h.deliver(p.Event("invoice_payment.paid", p.InvoicePayment()))
		h.Last("ignored", "already_recorded")
		h.deliver(p.Event("invoice.paid", p.Invoice()))
		require.Equal(t, sale, h.Last("ignored", "already_recorded").String("sale_id"))
		require.EqualValues(t, 1, h.Total("sales"))
	}
	apitest.Balanced(t, h.Server)
}
