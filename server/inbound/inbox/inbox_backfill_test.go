package inbox_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/harness/apitest"
	"rail/server/harness/stripetest"
	"rail/server/inbound/backfill"
	"rail/server/inbound/connection"
	"rail/server/jobs"
	"rail/server/secret"
)

// backfill reads the events of the last days from Stripe.
func (h inboxed) backfill(days int64) (backfill.Report, error) {
	h.T.Helper()
	keeper, err := secret.New(h.Config.SecretKey)
	require.NoError(h.T, err)
	c, err := db.New().ConnectionAcrossOrgs(h.T.Context(), h.Pool, h.Connection.ID)
	require.NoError(h.T, err)
	b := jobs.Deps{Pool: h.Pool, Clock: h.Clock, Keeper: keeper, StripeURL: h.Config.StripeURL}.Backfill()
	now := h.Clock.Now()
	return b.Run(h.T.Context(), c, now.Days(-days), now)
}

// numbers returns the counts of a report.
func numbers(r backfill.Report) []int64 {
	return []int64{r.Seen, r.Known, r.Missing, r.Recorded, r.Ignored, r.Waiting, r.Failed, r.Different}
}

// TestBackfillEvents: missed events are recorded once, by the ids of Stripe's events, even if they
// are read several times and also arrive as webhooks.
func TestBackfillEvents(t *testing.T) {
	t.Parallel()
	h, api := newAsking(t)
	come, missed, nobodys := h.purchase(stripetest.Clover, "come"), h.purchase(stripetest.Basil, "missed"), h.purchase(stripetest.Acacia, "nobody")
	nobodys.Reference, missed.Refunded = "", 900
	for _, p := range []stripetest.Purchase{come, missed, nobodys} {
		api.Add(p)
		for _, body := range [][]byte{
			p.Event("checkout.session.completed", p.Session()), p.Event("invoice.paid", p.Invoice()),
		} {
			api.Happened(body)
			if p.Name == "come" {
				h.deliver(body)
			}
		}
	}
	api.Happened(missed.Event("charge.refunded", missed.ChargeObject()))
	h.Work()
	h.Clock.Advance(time.Hour)

	r, err := h.backfill(8)
	require.NoError(t, err)
	require.Equal(t, []int64{7, 2, 5, 3, 2, 0, 0, 0}, numbers(r))
	var kinds []string
	for _, d := range r.Differences {
		kinds = append(kinds, d.ExternalEventID+" "+d.Status)
	}
	require.ElementsMatch(t, []string{
		"evt_checkout.session.completed_missed recorded", "evt_invoice.paid_missed recorded", "evt_charge.refunded_missed recorded",
		"evt_invoice.paid_nobody ignored",
	}, kinds)
	again, err := h.backfill(8)
	require.NoError(t, err)
	require.Equal(t, []int64{7, 7, 0, 0, 0, 0, 0, 0}, numbers(again))
	h.deliver(missed.Event("invoice.paid", missed.Invoice()))
	h.Work()
	list := h.Get("/v1/sales?program_id=" + h.ProgramID).Data()
	require.Len(t, list, 2)
	var refunded int64
	require.NoError(t, h.Pool.QueryRow(t.Context(),
		`SELECT refunded_minor FROM sales WHERE external_charge_id = 'in_missed'`).Scan(&refunded))
	require.EqualValues(t, 900, refunded)
	apitest.Balanced(t, h.Server)
}

// TestBackfillRefunds: a missed refund is recorded, although another payment of the bill and a credit note refunded as
// much of the sale. A missed failure of a refund is left to a person.
func TestBackfillRefunds(t *testing.T) {
	t.Parallel()
	h, api := newAsking(t)
	p := h.purchase(stripetest.Clover, "bill")
	p.Refunded = 900
	api.Add(p)
	second := p
	second.Name, second.Refunded = "second", 300
	joins := second.InvoicePayment()
	joins["invoice"] = "in_bill"
	api.Know(stripetest.Object{"id": "invoice of pi_second", "invoice": "in_bill"})
	for _, body := range [][]byte{
		p.Event("checkout.session.completed", p.Session()), p.Event("invoice.paid", p.Invoice()),
		p.Event("invoice_payment.paid", p.InvoicePayment()), second.Event("invoice_payment.paid", joins),
		p.Event("charge.refunded", p.ChargeObject()),
		p.Event("credit_note.created", M{
			"id": "cn_1", "invoice": "in_bill", "status": "issued", "currency": "usd", "out_of_band_amount": 500,
		}),
	} {
		h.deliver(body)
		h.Work()
	}
	require.EqualValues(t, 1000, h.one().sale)
	api.Happened(second.Event("charge.refunded", second.ChargeObject()))
	h.Clock.Advance(time.Hour)
	r, err := h.backfill(1)
	require.NoError(t, err)
	require.Equal(t, []int64{1, 0, 1, 1, 0, 0, 0, 0}, numbers(r))
	require.EqualValues(t, 700, h.one().sale)

	p.At = h.Clock.Now().Time
	api.Happened(p.Event("refund.failed", p.Refund("re_bill", 900, "failed")))
	h.Clock.Advance(time.Hour)
	r, err = h.backfill(1)
	require.NoError(t, err)
	require.Equal(t, []int64{2, 1, 1, 0, 0, 0, 1, 0}, numbers(r))
	failed := h.Last("failed", "refund_failed")
	h.Must(200, h.Post("/v1/inbox_events/"+failed.String("id")+"/resolve", nil))
	require.EqualValues(t, 1600, h.one().sale)
	apitest.Balanced(t, h.Server)
}

// TestBackfillCaptured: a missed capture of a checkout's payment is recorded, also by a connection that records checkouts
// and invoices only. That connection does not read other payment intents.
func TestBackfillCaptured(t *testing.T) {
	t.Parallel()
	h, api := newAsking(t)
	p, other := h.purchase(stripetest.Clover, "held"), h.purchase(stripetest.Clover, "direct")
	p.Subscription, p.Invoiced, other.Subscription, other.Invoiced = false, false, false, false
	api.Add(p)
	checkout := p.Session()
	checkout["payment_status"] = "unpaid"
	h.deliver(p.Event("checkout.session.completed", checkout))
	h.Last("waiting", "unknown_sale")
	captured := p.PaymentIntent()
	captured["capture_method"] = "manual"
	api.Happened(p.Event("payment_intent.succeeded", captured))
	api.Happened(other.Event("payment_intent.succeeded", other.PaymentIntent()))
	h.Clock.Advance(time.Hour)
	r, err := h.backfill(1)
	require.NoError(t, err)
	require.Equal(t, []int64{1, 0, 1, 1, 0, 0, 0, 0}, numbers(r))
	require.Equal(t, "pi_held", h.Get("/v1/sales?program_id=" + h.ProgramID).Data()[0]["external_charge_id"])
	apitest.Balanced(t, h.Server)
}

// TestBackfillMoneyBack: a backfill reads refunds outside Stripe, and the events of a dispute between its beginning and
// its end.
func TestBackfillMoneyBack(t *testing.T) {
	t.Parallel()
	h, api := newAsking(t)
	p := h.purchase(stripetest.Clover, "back")
	api.Add(p)
	h.deliver(p.Event("checkout.session.completed", p.Session()))
	h.deliver(p.Event("invoice.paid", p.Invoice()))
	h.Last("recorded", nil)
	missed := func(left int64, kind string, object stripetest.Object) {
		t.Helper()
		h.Clock.Advance(time.Hour)
		p.At = h.Clock.Now().Time
		api.Know(object)
		api.Happened(p.Event(kind, object))
		h.Clock.Advance(time.Minute)
		r, err := h.backfill(1)
		require.NoError(t, err)
		require.EqualValues(t, 1, r.Recorded, kind)
		require.Equal(t, left, h.one().sale, kind)
	}
	missed(1900, "credit_note.created", M{
		"id": "cn_1", "invoice": "in_back", "status": "issued", "currency": "usd", "out_of_band_amount": 500,
	})
	missed(1000, "refund.updated", p.Refund("re_back", 900, "succeeded"))
	missed(500, "charge.dispute.updated", p.Dispute(500, "lost"))
	missed(1000, "charge.dispute.funds_reinstated", p.Dispute(500, "won"))
	apitest.Balanced(t, h.Server)
}

// TestBackfillDifferences: the report lists a sale whose amount differs from Stripe's payment.
func TestBackfillDifferences(t *testing.T) {
	t.Parallel()
	h, api := newAsking(t)
	p := h.purchase(stripetest.Clover, "odd")
	api.Happened(p.Event("invoice.paid", p.Invoice()))
	h.Must(201, h.Post("/v1/sales", M{
		"program_id": h.ProgramID, "external_charge_id": "in_odd", "amount_minor": 1000, "currency": "USD",
		"external_customer_id": "cus_odd", "click_id": p.Reference,
	}))
	h.Clock.Advance(time.Hour)
	r, err := h.backfill(1)
	require.NoError(t, err)
	require.Equal(t, []int64{1, 1, 0, 0, 0, 0, 0, 1}, numbers(r))
	d := r.Differences[0]
	require.Equal(t, []any{"amount", "in_odd", int64(2400), int64(1000)}, []any{d.Kind, d.Charge, *d.ThereMinor, *d.HereMinor})
	require.EqualValues(t, 1, h.Total("sales"))
}

// TestBackfillObjects: Stripe's list of events covers a limited time. Older payments are read from
// Stripe's objects, and the second run finds them recorded.
func TestBackfillObjects(t *testing.T) {
	t.Parallel()
	h, api := newAsking(t)
	for _, name := range []string{"a", "b", "c"} {
		p := h.purchase(stripetest.Clover, name)
		p.At, p.Refunded = p.At.AddDate(0, 0, -100), 400
		api.Add(p)
	}
	r, err := h.backfill(120)
	require.NoError(t, err)
	require.Equal(t, []int64{9, 0, 9, 9, 0, 0, 0, 0}, numbers(r))
	require.EqualValues(t, 3, h.Total("sales"))
	var refunded, dated int64
	require.NoError(t, h.Pool.QueryRow(t.Context(), `SELECT sum(refunded_minor), count(*) FILTER (WHERE occurred_at < $1)
		FROM sales`, h.Clock.Now().Days(-99)).Scan(&refunded, &dated))
	require.Equal(t, []int64{1200, 3}, []int64{refunded, dated})
	r, err = h.backfill(120)
	require.NoError(t, err)
	require.Equal(t, []int64{9, 9, 0, 0, 0, 0, 0, 0}, numbers(r))
	apitest.Balanced(t, h.Server)
}

// TestBackfillStopped: a run that fails reports the time up to which it has read everything, and
// can be repeated.
func TestBackfillStopped(t *testing.T) {
	t.Parallel()
	h, api := newAsking(t)
	api.Answer(http.StatusForbidden)
	r, err := h.backfill(3)
	require.ErrorContains(t, err, "Stripe answered 403")
	require.Equal(t, h.Clock.Now().Days(-3), r.Until)
	api.Answer(0)
	r, err = h.backfill(3)
	require.NoError(t, err)
	require.Equal(t, h.Clock.Now(), r.Until)

	keyless := newStriped(t, func(in *connection.Input) { in.APIKey = "" })
	r, err = keyless.backfill(3)
	require.NoError(t, err)
	require.Equal(t, "the connection has no API key", r.Skipped)
}

// TestReconcile: the nightly job records the events missed since the connection was created, once.
func TestReconcile(t *testing.T) {
	t.Parallel()
	h, api := newAsking(t)
	before, p := h.purchase(stripetest.Clover, "before"), h.purchase(stripetest.Clover, "missed")
	before.At = before.At.Add(-time.Hour)
	p.At = p.At.Add(time.Minute)
	for _, one := range []stripetest.Purchase{before, p} {
		api.Add(one)
		api.Happened(one.Event("checkout.session.completed", one.Session()))
		api.Happened(one.Event("invoice.paid", one.Invoice()))
	}
	apitest.RunJob(t, h.Server, "reconcile")
	require.Empty(t, api.Asked(), "the connection is too young")
	h.Clock.Advance(25 * time.Hour)
	apitest.RunJob(t, h.Server, "reconcile")
	require.EqualValues(t, 1, h.Total("sales"), "what was before the connection is not read")
	require.NotEmpty(t, api.Asked())
	apitest.RunJob(t, h.Server, "reconcile")
	require.Empty(t, api.Asked(), "once a night")
	api.Answer(http.StatusForbidden)
	h.Clock.Advance(48 * time.Hour)
	require.ErrorContains(t, h.reconcile(), "403")
	api.Answer(0)
	api.Asked()
	require.NoError(t, h.reconcile())
	require.Empty(t, api.Asked(), "it is left alone for some hours")
	h.Clock.Advance(7 * time.Hour)
	require.NoError(t, h.reconcile())
	require.NotEmpty(t, api.Asked())
	apitest.Balanced(t, h.Server)
}

// reconcile runs the job and returns its outcome.
func (h inboxed) reconcile() error {
	h.T.Helper()
	keeper, err := secret.New(h.Config.SecretKey)
	require.NoError(h.T, err)
	for _, j := range jobs.All(jobs.Deps{Pool: h.Pool, Clock: h.Clock, Keeper: keeper, StripeURL: h.Config.StripeURL}) {
		if j.Name == "reconcile" {
			return j.Run(h.T.Context(), clock.At(h.Clock.Now().Time))
		}
	}
	return nil
}
