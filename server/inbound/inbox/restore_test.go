package inbox_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/inbound/connection"
)

// adjust returns an adjustment of Paddle with an amount.
func adjust(id, action string, amount int64) processorEvent {
	a := paddleAdjustment(id, action, "approved")
	a["totals"] = M{"subtotal": fmt.Sprint(amount), "tax": "0", "total": fmt.Sprint(amount)}
	return processorEvent{"adjustment.created", a}
}

// one returns the books of the program's only sale.
func (h inboxed) one() books {
	h.T.Helper()
	all := h.books()
	require.Len(h.T, all, 1)
	for _, b := range all {
		return b
	}
	return books{}
}

// wonChargebacks are the input, the reversal and the expected result of TestWonChargeback.
var wonChargebacks = []struct {
	name           string
	taken, back    int64
	mode           string
	paid           bool
	status         string // of the commission that takes the share back
	sale, share    int64
	half, halfLeft int64 // a later refund, and the share after it
}{
	{"voided", 2400, 2400, "immediate", false, "due", 2400, 480, 1200, 240},
	{"voided, waiting for approval", 2400, 2400, "manual", false, "pending", 2400, 480, 1200, 240},
	{"voided, back in part", 2400, 600, "immediate", false, "due", 600, 120, 300, 60},
	{"shrunk", 900, 900, "immediate", false, "due", 2400, 480, 1200, 240},
	{"shrunk, waiting for approval", 900, 900, "manual", false, "pending", 2400, 480, 1200, 240},
	{"shrunk, back in part", 900, 300, "immediate", false, "due", 1800, 360, 600, 240},
	{"paid", 2400, 2400, "immediate", true, "due", 2400, 480, 1200, 240},
	{"paid, in part", 900, 900, "immediate", true, "due", 2400, 480, 1200, 240},
	{"paid, back in part", 2400, 601, "immediate", true, "due", 601, 120, 300, 60},
}

// Field case 8 (a won chargeback at Paddle): it returns the partner's share, whatever the
// commission's status. Later refunds and chargebacks take their share of it, whole or in part.
func TestWonChargeback(t *testing.T) {
	t.Parallel()
	for _, c := range wonChargebacks {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newMoney(t, paddleMoney)
			h.Must(200, h.Post("/v1/programs/"+h.ProgramID, M{"holding_period_days": 0, "min_payout_minor": 0}))
			flow := h.Get("/v1/flows?program_id=" + h.ProgramID).Data()[0]["id"].(string)
			h.Must(200, h.Post("/v1/flows/"+flow, M{"approval_mode": c.mode}))
			say := func(s processorEvent) apitest.Answer {
				h.Clock.Advance(time.Hour)
				paddleMoney.say(h, 1, h.Clock.Now().Time, s)
				return h.Last("recorded", nil)
			}
			paddleMoney.pay(h, 1)
			sale := h.Last("recorded", nil).String("sale_id")
			if c.paid {
				h.Settle()
			}
			lost := say(adjust("adj_1", "chargeback", c.taken))
			won := say(adjust("adj_2", "chargeback_reverse", c.back))
			require.Equal(t, lost.Body["refund_id"], won.Body["refund_id"])
			require.Equal(t, []int64{c.sale, c.share}, []int64{h.one().sale, h.one().share})
			refund := h.Get("/v1/refunds/" + won.String("refund_id"))
			require.Equal(t, c.back, refund.Int("restored_minor"))
			commission := apitest.Answer{Body: refund.Body["restorations"].([]any)[0].(M)["commissions"].([]any)[0].(M)}
			k := h.Get("/v1/commissions/" + commission.String("commission_id"))
			require.Equal(t, []any{c.status, "reward", sale}, []any{k.Body["status"], k.Body["kind"], k.Body["sale_id"]})
			line := h.Get("/v1/audit_log_entries?action=sale.restored&program_id=" + h.ProgramID).Data()
			require.Len(t, line, 1)
			require.Contains(t, line[0]["reason"], "dispute of txn_1")
			require.Equal(t, "active", h.Get("/v1/customers/" + won.String("customer_id")).Body["status"])

			// Another event reports the same reversal.
			h.Clock.Advance(time.Hour)
			again := adjust("adj_2", "chargeback_reverse", c.back)
			again.kind = "adjustment.updated"
			paddleMoney.say(h, 1, h.Clock.Now().Time, again)
			h.Last("ignored", "already_recorded")
			apitest.Balanced(t, h.Server)

			say(adjust("adj_3", "refund", c.half))
			require.Equal(t, []int64{c.sale - c.half, c.halfLeft}, []int64{h.one().sale, h.one().share})
			apitest.Balanced(t, h.Server)
			say(adjust("adj_4", "chargeback", c.sale-c.half))
			require.Equal(t, []int64{0, 0}, []int64{h.one().sale, h.one().share})
			apitest.Balanced(t, h.Server)
			say(adjust("adj_5", "chargeback_reverse", c.sale-c.half))
			require.Equal(t, []int64{c.sale - c.half, c.halfLeft}, []int64{h.one().sale, h.one().share})
			apitest.Balanced(t, h.Server)
		})
	}
}

// A chargeback, a refund, the reversal and another chargeback arrive in every order, each twice.
// The books are the same.
func TestChargebackInEveryOrder(t *testing.T) {
	t.Parallel()
	h := newMoney(t, paddleMoney)
	events := []processorEvent{
		adjust("adj_a#", "chargeback", 900), adjust("adj_b#", "refund", 600), adjust("adj_c#", "chargeback_reverse", 900),
		adjust("adj_d#", "chargeback", 300),
	}
	h.inAnyOrder(paddleMoney, events, books{sale: 1500, share: 300, flags: 1})
}

// The same at Stripe, whose refunds report the payment's refunded total.
func TestDisputeInEveryOrder(t *testing.T) {
	t.Parallel()
	h := newMoney(t, stripeMoney)
	level := stripeMoney.rows[0].data
	events := []processorEvent{
		{"charge.dispute.closed", stripeDispute("lost")}, {"charge.refunded", merged(level, M{"amount_refunded": 600})},
		{"charge.dispute.funds_reinstated", stripeDispute("won")}, {"charge.refunded", merged(level, M{"amount_refunded": 1000})},
	}
	h.inAnyOrder(stripeMoney, events, books{sale: 1400, share: 280, flags: 1})
}

// inAnyOrder pays and sends events in every order. Their times stay in the original order.
func (h inboxed) inAnyOrder(p moneyProcessor, events []processorEvent, want books) {
	h.T.Helper()
	all := orders(len(events))
	for n := range all {
		p.pay(h, n+1)
	}
	h.Work()
	first := h.Clock.Now().Time
	h.Clock.Advance(time.Duration(len(events)+1) * time.Minute)
	for n, order := range all {
		for _, i := range order {
			for range 2 {
				p.say(h, n+1, first.Add(time.Duration(i+1)*time.Minute), events[i])
				apitest.RunJob(h.T, h.Server, "work-inbox")
			}
		}
	}
	h.Clock.Advance(time.Hour)
	apitest.RunJob(h.T, h.Server, "work-inbox")
	got := h.books()
	require.Len(h.T, got, len(all))
	for charge, b := range got {
		require.Equal(h.T, want, b, charge)
	}
	apitest.Balanced(h.T, h.Server)
}

// A refund failed and was repeated before the first one was restored. Restoring the first one does
// not change the second.
func TestFailedRefundMadeAgain(t *testing.T) {
	t.Parallel()
	h := newMoney(t, stripeMoney)
	stripeMoney.pay(h, 1)
	h.Last("recorded", nil)
	say := func(s processorEvent) {
		h.Clock.Advance(time.Hour)
		stripeMoney.say(h, 1, h.Clock.Now().Time, s)
	}
	level := processorEvent{"charge.refunded", merged(stripeMoney.rows[0].data, M{"amount_refunded": 900})}
	say(processorEvent{"refund.failed", merged(stripeRefund("failed"), M{"id": "re_early"})})
	early := h.Last("ignored", "nothing_taken")
	h.Refused(409, "inbox_event_not_resolvable", "", h.Post("/v1/inbox_events/"+early.String("id")+"/resolve", nil))
	say(level)
	h.Last("recorded", nil)
	say(processorEvent{"refund.failed", stripeRefund("failed")})
	failed := h.Last("failed", "refund_failed")
	say(level)
	h.Last("ignored", "already_recorded")
	require.Equal(t, books{sale: 1500, share: 300}, h.one())
	done := h.Must(200, h.Post("/v1/inbox_events/"+failed.String("id")+"/resolve", nil))
	require.Equal(t, done.Body, h.Must(200, h.Post("/v1/inbox_events/"+failed.String("id")+"/resolve", nil)).Body)
	require.Equal(t, books{sale: 2400, share: 480}, h.one())
	h.Last("recorded", nil)
	require.Equal(t, books{sale: 1500, share: 300}, h.one(), "the second refund, worked again")
	h.Must(200, h.Post("/v1/inbox_events/"+failed.String("id")+"/replay", nil))
	h.Work()
	require.Equal(t, "recorded", h.Get("/v1/inbox_events/"+failed.String("id")).String("status"))
	require.Equal(t, books{sale: 1500, share: 300}, h.one())
	apitest.Balanced(t, h.Server)
	stranger := apitest.On(t, h.DSN, h.Clock)
	stranger.Refused(404, "resource_not_found", "", stranger.Post("/v1/inbox_events/"+failed.String("id")+"/resolve", nil))
}

// A reversal in another currency than the sale is refused with a reason.
func TestChargebackInAnotherCurrency(t *testing.T) {
	t.Parallel()
	h := newMoney(t, paddleMoney)
	paddleMoney.pay(h, 1)
	h.Last("recorded", nil)
	for _, action := range []string{"chargeback", "chargeback_reverse", "refund"} {
		s := adjust("adj_"+action, action, 900)
		s.data["currency_code"] = "EUR"
		paddleMoney.say(h, 1, h.Clock.Now().Time, s)
		require.Equal(t, "The event is in EUR, the sale in USD.", h.Last("failed", "malformed").String("reason"))
	}
	require.Equal(t, int64(2400), h.one().sale)
}

// A person corrected the commission to the rest of the sale after a chargeback. When the money
// comes back, the commission does not change. Later refunds take their share of it.
func TestWonChargebackAfterCorrection(t *testing.T) {
	t.Parallel()
	h := newMoney(t, paddleMoney)
	paddleMoney.pay(h, 1)
	sale := h.Last("recorded", nil).String("sale_id")
	h.adjusted(adjust("adj_1", "chargeback", 1200))
	require.EqualValues(t, 240, h.CommissionsOf(sale))
	id := h.Get("/v1/commissions?program_id=" + h.ProgramID).Data()[0]["id"].(string)
	h.Must(200, h.Post("/v1/commissions/"+id, M{"amount_minor": 200, "reason": "Agreed by phone"}))
	h.adjusted(adjust("adj_2", "chargeback_reverse", 1200))
	require.EqualValues(t, 2400, h.one().sale)
	require.EqualValues(t, 200, h.CommissionsOf(sale))
	apitest.Balanced(t, h.Server)
	h.adjusted(adjust("adj_3", "refund", 1200))
	require.EqualValues(t, 100, h.CommissionsOf(sale))
	apitest.Balanced(t, h.Server)
	h.adjusted(adjust("adj_4", "refund", 1200))
	require.Zero(t, h.CommissionsOf(sale))
	apitest.Balanced(t, h.Server)
}

// TestWonChargebackAfterMerge: the partner gets back the share at the rate after the merge.
func TestWonChargebackAfterMerge(t *testing.T) {
	t.Parallel()
	h := newMoney(t, paddleMoney)
	h.FirstPays("percent", 5000)
	into := h.CreateCustomer(nil)
	h.Sell(into, "early", h.Clock.Now().Time.AddDate(0, 0, -9))
	paddleMoney.pay(h, 1)
	e := h.Last("recorded", nil)
	sale, from := e.String("sale_id"), e.String("customer_id")
	require.EqualValues(t, 1200, h.CommissionsOf(sale))
	h.adjusted(adjust("adj_1", "chargeback", 1200))
	require.EqualValues(t, 600, h.CommissionsOf(sale))
	h.Must(200, h.Merge(into, from, nil))
	require.EqualValues(t, 120, h.CommissionsOf(sale), "10 % of 12.00")
	h.adjusted(adjust("adj_2", "chargeback_reverse", 1200))
	require.EqualValues(t, 240, h.CommissionsOf(sale), "10 % of 24.00")
	apitest.Balanced(t, h.Server)
	h.adjusted(adjust("adj_3", "refund", 600))
	require.EqualValues(t, 180, h.CommissionsOf(sale), "10 % of 18.00")
	apitest.Balanced(t, h.Server)
}

// adjusted sends Paddle's adjustment of its first payment an hour later, and requires that it is
// recorded.
func (h inboxed) adjusted(s processorEvent) {
	h.T.Helper()
	h.Clock.Advance(time.Hour)
	paddleMoney.say(h, 1, h.Clock.Now().Time, s)
	h.Last("recorded", nil)
}

// TestWonChargebackAfterCredit: money that comes back after the credit earns the partner's share,
// although it was lost before the credit.
func TestWonChargebackAfterCredit(t *testing.T) {
	t.Parallel()
	h := newInboxed(t, apitest.RecordDirect, func(in *connection.Input) {
		in.Processor, in.Secret = connection.Paddle, "pdl_ntfset_1"
	})
	postPaddle(h, h.Clock.Now().Time, "transaction.completed", numbered(M{
		"id": "txn_#", "customer_id": "ctm_#", "currency_code": "USD",
		"details": M{"totals": M{"tax": "0", "total": "2400", "grand_total": "2400"}},
	}, 1))
	e := h.Last("recorded", nil)
	sale := e.String("sale_id")
	h.adjusted(adjust("adj_1", "chargeback", 1200))
	h.Credit(e.String("customer_id"))
	require.EqualValues(t, 1200, h.one().sale)
	require.EqualValues(t, 240, h.CommissionsOf(sale), "20 % of 12.00")
	h.adjusted(adjust("adj_2", "chargeback_reverse", 1200))
	require.EqualValues(t, 2400, h.one().sale)
	require.EqualValues(t, 480, h.CommissionsOf(sale), "20 % of 24.00")
	apitest.Balanced(t, h.Server)
	h.adjusted(adjust("adj_3", "refund", 1200))
	require.EqualValues(t, 240, h.CommissionsOf(sale), "20 % of 12.00")
	apitest.Balanced(t, h.Server)
}

// capped sends an event about Stripe's first payment an hour later, and requires the rest of the sale.
func (h inboxed) capped(left int64, kind string, data M) apitest.Answer {
	h.T.Helper()
	h.Clock.Advance(time.Hour)
	stripeMoney.say(h, 1, h.Clock.Now().Time, processorEvent{kind, data})
	events := h.Work()
	require.Equal(h.T, left, h.one().sale, "%s %v", kind, data)
	return events[len(events)-1]
}

// refundedTo returns the data of a charge that was refunded up to a level.
func refundedTo(level int64) M { return merged(stripeMoney.rows[0].data, M{"amount_refunded": level}) }

// TestLevelsAfterFullRefund: a dispute takes only what a refund left of the sale. After the dispute is won, the next
// refund takes its own amount, and the same dispute can be lost again.
func TestLevelsAfterFullRefund(t *testing.T) {
	t.Parallel()
	h := newMoney(t, stripeMoney)
	stripeMoney.pay(h, 1)
	h.Last("recorded", nil)
	dispute := func(status string) M { return merged(stripeDispute(status), M{"amount": 2400}) }
	h.capped(1500, "charge.refunded", refundedTo(900))
	h.capped(0, "charge.dispute.closed", dispute("lost"))
	h.capped(0, "charge.dispute.updated", dispute("lost"))
	h.capped(1500, "charge.dispute.closed", dispute("won"))
	h.capped(1000, "charge.refunded", refundedTo(1400))
	apitest.Balanced(t, h.Server)
	h.capped(0, "charge.dispute.closed", dispute("lost"))
	h.capped(0, "charge.dispute.updated", dispute("lost"))
	h.capped(1000, "charge.dispute.funds_reinstated", dispute("won"))
	h.capped(600, "charge.refunded", refundedTo(1800))
	require.EqualValues(t, 120, h.one().share)
	apitest.Balanced(t, h.Server)
}

// TestLostDisputeAgain: an event of a lost dispute from before it was won takes nothing, although the dispute was for
// more than the rest of the sale.
func TestLostDisputeAgain(t *testing.T) {
	t.Parallel()
	h := newMoney(t, stripeMoney)
	stripeMoney.pay(h, 1)
	h.Last("recorded", nil)
	dispute := func(status string) M { return merged(stripeDispute(status), M{"amount": 2400}) }
	h.capped(1500, "charge.refunded", refundedTo(900))
	h.capped(0, "charge.dispute.closed", dispute("lost"))
	early := h.Clock.Now().Time
	h.capped(1500, "charge.dispute.closed", dispute("won"))
	stripeMoney.say(h, 1, early, processorEvent{"charge.dispute.updated", dispute("lost")})
	h.Last("ignored", "already_recorded")
	require.EqualValues(t, 1500, h.one().sale)
	h.Must(200, h.Post("/v1/inbox_events/"+h.Work()[4].String("id")+"/replay", nil))
	h.Work()
	require.EqualValues(t, 1500, h.one().sale)
	apitest.Balanced(t, h.Server)
}

// TestFailedRefundOfTooMuch: a credit note left less than a refund's amount. When the refund fails, only the part that
// Rail took comes back, and the next refund is taken in full.
func TestFailedRefundOfTooMuch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name             string
		level            int64 // the charge was refunded up to this level, of which the failed refund is a part
		failed, restored int64
		next, left       int64
	}{
		{"all of it", 2400, 2400, 1900, 400, 1500},
		{"a part of it", 2400, 1400, 900, 1300, 600},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newMoney(t, stripeMoney)
			stripeMoney.pay(h, 1)
			h.Last("recorded", nil)
			h.capped(1900, "credit_note.created", stripeNote(500))
			h.capped(0, "charge.refunded", refundedTo(c.level))
			e := h.capped(0, "refund.failed", merged(stripeRefund("failed"), M{"amount": c.failed}))
			h.Must(200, h.Post("/v1/inbox_events/"+e.String("id")+"/resolve", nil))
			require.Equal(t, c.restored, h.one().sale)
			h.capped(c.left, "charge.refunded", refundedTo(c.next))
			apitest.Balanced(t, h.Server)
		})
	}
}

// TestFailedRefundInAnotherCurrency: a failed refund restores the same share of the sale as of its payment. Without the
// payment's amount, the event is refused.
func TestFailedRefundInAnotherCurrency(t *testing.T) {
	t.Parallel()
	h := newMoney(t, stripeMoney)
	stripeMoney.pay(h, 1)
	h.Last("recorded", nil)
	charge := merged(refundedTo(450), M{"amount": 1200, "amount_captured": 1200, "currency": "eur"})
	h.capped(1500, "charge.refunded", charge)
	refund := merged(stripeRefund("failed"), M{"amount": 450, "currency": "eur"})
	e := h.capped(1500, "refund.failed", refund)
	require.Equal(t, "The event is in EUR, the sale in USD.", e.String("reason"))
	e = h.capped(1500, "refund.failed", merged(refund, M{"charge": charge}))
	require.Equal(t, "refund_failed", e.String("reason_code"))
	h.Must(200, h.Post("/v1/inbox_events/"+e.String("id")+"/resolve", nil))
	require.Equal(t, books{sale: 2400, share: 480}, h.one())
	apitest.Balanced(t, h.Server)
}
