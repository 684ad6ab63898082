package inbox_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/harness/stripetest"
	"rail/server/inbound/chargebee"
	"rail/server/inbound/connection"
	"rail/server/inbound/lemonsqueezy"
	"rail/server/inbound/paddle"
	"rail/server/inbound/polar"
	"rail/server/inbound/stripe"
)

// The effects of an event about money, in the words of the table in server/inbound/README.md.
const (
	takes    = "lowers the sale and takes back the partner's share"
	restores = "restores the sale and the partner's share"
	flags    = "opens a risk flag"
	closes   = "closes the risk flag"
	asks     = "fails with `refund_failed`: a person restores the share with one click"
	later    = "nothing yet: `not_final`"
	nothing  = "nothing: `no_money_moved`"
)

// processorEvent is one event of a processor, about a payment of 2400.
type processorEvent struct {
	kind string
	data M
}

// moneyRow is a row of the table: an event in a state, after other events.
type moneyRow struct {
	event, state string
	before       []processorEvent
	data         M
	effect       string
}

// moneyProcessor sends events of a processor about the payment with a number.
type moneyProcessor struct {
	name    string
	handled func() []string
	pay     func(h inboxed, n int)
	say     func(h inboxed, n int, at time.Time, s processorEvent)
	rows    []moneyRow
}

// numbered replaces # in texts with a payment's number.
func numbered(v any, n int) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, "#", fmt.Sprint(n))
	case M:
		out := M{}
		for k, one := range v {
			out[k] = numbered(one, n)
		}
		return out
	}
	return v
}

func merged(of ...M) M {
	out := M{}
	for _, m := range of {
		maps.Copy(out, m)
	}
	return out
}

var eventNumber = apitest.Unique

// postStripe sends one of Stripe's events.
func postStripe(h inboxed, at time.Time, kind string, object any) {
	body, err := json.Marshal(M{
		"id": eventNumber("evt_"), "object": "event", "created": at.Unix(), "livemode": true, "type": kind,
		"api_version": string(stripetest.Clover), "data": M{"object": object},
	})
	require.NoError(h.T, err)
	h.deliver(body)
}

func stripeDispute(status string) M {
	return M{"id": "dp_#", "charge": "ch_#", "payment_intent": "pi_#", "amount": 900, "currency": "usd", "status": status}
}

func stripeRefund(status string) M {
	return M{"id": "re_#", "charge": "ch_#", "payment_intent": "pi_#", "amount": 900, "currency": "usd", "status": status}
}

func stripeNote(outside any) M {
	return M{"id": "cn_#", "invoice": "in_#", "out_of_band_amount": outside, "currency": "usd", "status": "issued"}
}

func stripeWarning(actionable bool) M {
	return M{"id": "issfr_#", "charge": "ch_#", "payment_intent": "pi_#", "fraud_type": "made_with_stolen_card", "actionable": actionable}
}

var stripeMoney = moneyProcessor{
	name: connection.Stripe, handled: stripe.Events,
	pay: func(h inboxed, n int) {
		at := h.Clock.Now().Time
		postStripe(h, at, "checkout.session.completed", numbered(M{
			"id": "cs_#", "mode": "subscription", "payment_status": "paid", "customer": "cus_#", "invoice": "in_#",
			"client_reference_id": h.Click(h.ProgramID, "ann").String("id"),
		}, n))
		postStripe(h, at, "invoice_payment.paid", numbered(M{
			"invoice": "in_#", "status": "paid", "payment": M{"payment_intent": "pi_#", "charge": "ch_#"},
		}, n))
		postStripe(h, at, "invoice.paid", numbered(M{
			"id": "in_#", "status": "paid", "customer": "cus_#", "amount_paid": 2400, "total": 2400, "currency": "usd",
		}, n))
	},
	say: func(h inboxed, n int, at time.Time, s processorEvent) { postStripe(h, at, s.kind, numbered(s.data, n)) },
	rows: []moneyRow{
		{event: "charge.refunded", data: M{
			"id": "ch_#", "payment_intent": "pi_#", "amount": 2400, "amount_captured": 2400, "amount_refunded": 900, "currency": "usd",
		}, effect: takes},
		{event: "refund.created", state: "succeeded", data: stripeRefund("succeeded"), effect: takes},
		{event: "refund.created", state: "pending", data: stripeRefund("pending"), effect: later},
		{event: "refund.updated", state: "succeeded", data: stripeRefund("succeeded"), effect: takes},
		{event: "refund.updated", state: "failed, canceled", before: []processorEvent{{"refund.created", stripeRefund("succeeded")}},
			data: stripeRefund("canceled"), effect: asks},
		{event: "refund.failed", before: []processorEvent{{"refund.created", stripeRefund("succeeded")}}, data: stripeRefund("failed"),
			effect: asks},
		{event: "charge.refund.updated", state: "failed", before: []processorEvent{{"refund.created", stripeRefund("succeeded")}},
			data: stripeRefund("failed"), effect: asks},
		{event: "charge.dispute.created", state: "needs_response", data: stripeDispute("needs_response"), effect: flags},
		{event: "charge.dispute.created", state: "warning_needs_response", data: stripeDispute("warning_needs_response"),
			effect: flags},
		{event: "charge.dispute.updated", state: "under_review", data: stripeDispute("under_review"), effect: flags},
		{event: "charge.dispute.funds_withdrawn", state: "needs_response", data: stripeDispute("needs_response"), effect: flags},
		{event: "charge.dispute.closed", state: "lost", data: stripeDispute("lost"), effect: takes},
		{event: "charge.dispute.closed", state: "won", before: []processorEvent{{"charge.dispute.created", stripeDispute("needs_response")}},
			data: stripeDispute("won"), effect: closes},
		{event: "charge.dispute.closed", state: "won, after lost", before: []processorEvent{{"charge.dispute.closed", stripeDispute("lost")}},
			data: stripeDispute("won"), effect: restores},
		{event: "charge.dispute.closed", state: "warning_closed, prevented, charge_refunded",
			before: []processorEvent{{"charge.dispute.created", stripeDispute("warning_needs_response")}},
			data:   stripeDispute("warning_closed"), effect: closes},
		{event: "charge.dispute.funds_reinstated", state: "won, after lost",
			before: []processorEvent{{"charge.dispute.closed", stripeDispute("lost")}}, data: stripeDispute("won"), effect: restores},
		{event: "radar.early_fraud_warning.created", data: stripeWarning(true), effect: flags},
		{event: "radar.early_fraud_warning.updated", state: "no longer actionable",
			before: []processorEvent{{"radar.early_fraud_warning.created", stripeWarning(true)}}, data: stripeWarning(false), effect: closes},
		{event: "credit_note.created", state: "paid back outside Stripe", data: stripeNote(900), effect: takes},
		{event: "credit_note.created", state: "refunded by Stripe, or credited", data: stripeNote(nil), effect: nothing},
		{event: "credit_note.updated", state: "paid back outside Stripe", data: stripeNote(900), effect: takes},
		{event: "credit_note.voided", before: []processorEvent{{"credit_note.created", stripeNote(900)}}, data: stripeNote(900),
			effect: restores},
	},
}

func paddleAdjustment(id, action, status string) M {
	return M{"id": id, "action": action, "status": status, "transaction_id": "txn_#", "currency_code": "USD",
		"totals": M{"subtotal": "900", "tax": "0", "total": "900"}}
}

var paddleMoney = moneyProcessor{
	name: connection.Paddle, handled: paddle.Events,
	pay: func(h inboxed, n int) {
		postPaddle(h, h.Clock.Now().Time, "transaction.completed", numbered(M{
			"id": "txn_#", "customer_id": "ctm_#", "currency_code": "USD",
			"custom_data": M{"rail_click": h.Click(h.ProgramID, "ann").String("id")},
			"details":     M{"totals": M{"tax": "0", "total": "2400", "grand_total": "2400"}},
		}, n))
	},
	say: func(h inboxed, n int, at time.Time, s processorEvent) { postPaddle(h, at, s.kind, numbered(s.data, n)) },
	rows: []moneyRow{
		{event: "adjustment.created", state: "refund, pending_approval", data: paddleAdjustment("adj_a#", "refund", "pending_approval"),
			effect: later},
		{event: "adjustment.created", state: "refund, approved", data: paddleAdjustment("adj_a#", "refund", "approved"), effect: takes},
		{event: "adjustment.updated", state: "refund, approved", data: paddleAdjustment("adj_a#", "refund", "approved"), effect: takes},
		{event: "adjustment.updated", state: "refund, rejected", data: paddleAdjustment("adj_a#", "refund", "rejected"), effect: nothing},
		{event: "adjustment.updated", state: "refund, reversed",
			before: []processorEvent{{"adjustment.created", paddleAdjustment("adj_a#", "refund", "approved")}},
			data:   paddleAdjustment("adj_a#", "refund", "reversed"), effect: restores},
		{event: "adjustment.created", state: "chargeback", data: paddleAdjustment("adj_a#", "chargeback", "approved"), effect: takes},
		{event: "adjustment.updated", state: "chargeback, reversed",
			before: []processorEvent{{"adjustment.created", paddleAdjustment("adj_a#", "chargeback", "approved")}},
			data:   paddleAdjustment("adj_a#", "chargeback", "reversed"), effect: restores},
		{event: "adjustment.created", state: "chargeback_reverse",
			before: []processorEvent{{"adjustment.created", paddleAdjustment("adj_a#", "chargeback", "approved")}},
			data:   paddleAdjustment("adj_b#", "chargeback_reverse", "approved"), effect: restores},
		{event: "adjustment.created", state: "chargeback_warning", data: paddleAdjustment("adj_a#", "chargeback_warning", "approved"),
			effect: flags},
		{event: "adjustment.updated", state: "chargeback_warning, reversed",
			before: []processorEvent{{"adjustment.created", paddleAdjustment("adj_a#", "chargeback_warning", "approved")}},
			data:   paddleAdjustment("adj_a#", "chargeback_warning", "reversed"), effect: closes},
		{event: "adjustment.created", state: "chargeback_warning_reverse",
			before: []processorEvent{{"adjustment.created", paddleAdjustment("adj_a#", "chargeback_warning", "approved")}},
			data:   paddleAdjustment("adj_b#", "chargeback_warning_reverse", "approved"), effect: closes},
		{event: "adjustment.created", state: "credit, credit_reverse", data: paddleAdjustment("adj_a#", "credit", "approved"),
			effect: nothing},
	},
}

func postPaddle(h inboxed, at time.Time, kind string, data any) {
	body, err := json.Marshal(M{
		"event_id": eventNumber("evt_"), "event_type": kind, "occurred_at": at.UTC().Format(time.RFC3339Nano), "data": data,
	})
	require.NoError(h.T, err)
	now := h.Clock.Now()
	mac := hmac.New(sha256.New, []byte(h.Connection.Signing))
	fmt.Fprintf(mac, "%d:%s", now.Unix(), body)
	h.hook(body, paddle.Header, fmt.Sprintf("ts=%d;h1=%s", now.Unix(), hex.EncodeToString(mac.Sum(nil))))
}

func chargebeeBack(kind, status string) M {
	return M{"transaction": M{"id": "ref_#", "type": kind, "status": status, "amount": 900, "currency_code": "USD",
		"refunded_txn_id": "txn_#", "customer_id": "cu_#"}}
}

func chargebeePaid(status string) M {
	return M{"transaction": M{"id": "txn_#", "type": "payment", "status": status, "amount": 2400, "currency_code": "USD",
		"customer_id": "cu_#"}}
}

var chargebeeMoney = moneyProcessor{
	name: connection.Chargebee, handled: chargebee.Events,
	pay: func(h inboxed, n int) {
		click := h.Click(h.ProgramID, "ann").String("id")
		postChargebee(h, h.Clock.Now().Time, "payment_succeeded",
			numbered(merged(chargebeePaid("success"), M{"customer": M{"id": "cu_#", "cf_rail_click": click}}), n))
	},
	say: func(h inboxed, n int, at time.Time, s processorEvent) {
		postChargebee(h, at, s.kind, numbered(s.data, n))
	},
	rows: []moneyRow{
		{event: "refund_initiated", state: "in_progress", data: chargebeeBack("refund", "in_progress"), effect: later},
		{event: "payment_refunded", state: "success", data: chargebeeBack("refund", "success"), effect: takes},
		{event: "transaction_created", state: "refund, success", data: chargebeeBack("refund", "success"), effect: takes},
		{event: "transaction_created", state: "refund, failure", data: chargebeeBack("refund", "failure"), effect: nothing},
		{event: "transaction_updated", state: "refund, late_failure",
			before: []processorEvent{{"payment_refunded", chargebeeBack("refund", "success")}}, data: chargebeeBack("refund", "late_failure"),
			effect: asks},
		{event: "transaction_created", state: "payment_reversal, success", data: chargebeeBack("payment_reversal", "success"),
			effect: takes},
		{event: "transaction_updated", state: "payment_reversal, late_failure or voided",
			before: []processorEvent{{"transaction_created", chargebeeBack("payment_reversal", "success")}},
			data:   chargebeeBack("payment_reversal", "voided"), effect: restores},
		{event: "transaction_deleted", state: "refund or payment_reversal",
			before: []processorEvent{{"payment_refunded", chargebeeBack("refund", "success")}}, data: chargebeeBack("refund", "success"),
			effect: restores},
		{event: "transaction_updated", state: "payment, late_failure or voided", data: chargebeePaid("late_failure"), effect: takes},
		{event: "transaction_deleted", state: "payment", data: chargebeePaid("success"), effect: takes},
		{event: "credit_note_created", data: M{"credit_note": M{"id": "note_#", "total": 900}}, effect: nothing},
		{event: "credit_note_updated", data: M{"credit_note": M{"id": "note_#", "total": 900}}, effect: nothing},
		{event: "credit_note_deleted", data: M{"credit_note": M{"id": "note_#", "total": 900}}, effect: nothing},
	},
}

func postChargebee(h inboxed, at time.Time, kind string, content any) {
	body, err := json.Marshal(M{
		"id": eventNumber("ev_"), "event_type": kind, "occurred_at": at.Unix(), "content": content,
	})
	require.NoError(h.T, err)
	h.hook(body, "Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(h.Connection.Signing)))
}

func lemonMoneyOf(more M) M {
	return merged(M{"customer_id": "#", "currency": "USD", "total": 2400, "tax": 0, "status": "paid", "test_mode": false}, more)
}

var lemonMoney = moneyProcessor{
	name: connection.LemonSqueezy, handled: lemonsqueezy.Events,
	pay: func(h inboxed, n int) {
		click := h.Click(h.ProgramID, "ann").String("id")
		h.lemon("subscription_created", n, click, numbered(M{"customer_id": "#", "order_id": n, "status": "active", "test_mode": false}, n).(M))
		h.lemon("order_created", n, click, numbered(lemonMoneyOf(nil), n).(M))
	},
	say: func(h inboxed, n int, at time.Time, s processorEvent) {
		h.lemon(s.kind, n, "", merged(numbered(s.data, n).(M), M{"updated_at": at.UTC().Format(time.RFC3339Nano)}))
	},
	rows: []moneyRow{
		{event: "order_refunded", state: "a refund, or a dispute that Lemon Squeezy lost", data: lemonMoneyOf(M{"refunded_amount": 900}),
			effect: takes},
		{event: "subscription_payment_refunded", data: lemonMoneyOf(M{
			"refunded_amount": 900, "billing_reason": "initial", "subscription_id": "#",
		}), effect: takes},
	},
}

func polarOrder(refunded int) M {
	return M{"id": "ord_#", "customer_id": "cu_#", "currency": "usd", "total_amount": 2400, "tax_amount": 0,
		"refunded_amount": refunded, "refunded_tax_amount": 0}
}

func polarRefund(status string) M {
	return M{"id": "ref_#", "order_id": "ord_#", "amount": 750, "tax_amount": 150, "currency": "usd", "status": status}
}

var polarMoney = moneyProcessor{
	name: connection.Polar, handled: polar.Events,
	pay: func(h inboxed, n int) {
		click := h.Click(h.ProgramID, "ann").String("id")
		postPolar(h, h.Clock.Now().Time, "order.paid", numbered(merged(polarOrder(0), M{"metadata": M{"rail_click": click}}), n))
	},
	say: func(h inboxed, n int, at time.Time, s processorEvent) { postPolar(h, at, s.kind, numbered(s.data, n)) },
	rows: []moneyRow{
		{event: "order.refunded", data: polarOrder(900), effect: takes},
		{event: "order.updated", state: "refunded or partially_refunded", data: polarOrder(900), effect: takes},
		{event: "order.updated", state: "any other", data: polarOrder(0), effect: nothing},
		{event: "refund.created", state: "succeeded", data: polarRefund("succeeded"), effect: takes},
		{event: "refund.created", state: "pending", data: polarRefund("pending"), effect: later},
		{event: "refund.updated", state: "succeeded", data: polarRefund("succeeded"), effect: takes},
		{event: "refund.updated", state: "failed, canceled", before: []processorEvent{{"refund.created", polarRefund("succeeded")}},
			data: polarRefund("failed"), effect: asks},
	},
}

func postPolar(h inboxed, at time.Time, kind string, data any) {
	body, err := json.Marshal(M{"type": kind, "timestamp": at.UTC().Format(time.RFC3339Nano), "data": data})
	require.NoError(h.T, err)
	key := "whsec_" + base64.StdEncoding.EncodeToString([]byte("polar_whs_1"))
	h.Must(200, h.Connection.SendRaw(body, apitest.Unique("msg_"), h.Clock.Now().Time, key))
}

var moneyProcessors = []moneyProcessor{stripeMoney, paddleMoney, chargebeeMoney, lemonMoney, polarMoney}

// newMoney connects a processor. The payments are an hour old.
func newMoney(t *testing.T, p moneyProcessor) inboxed {
	t.Helper()
	return newInboxed(t, func(in *connection.Input) {
		in.Processor = p.name
		if p.name != connection.Chargebee {
			in.Secret = map[string]string{
				connection.Stripe: stripeSecret, connection.Paddle: "pdl_ntfset_1", connection.LemonSqueezy: "lemon-secret",
				connection.Polar: "polar_whs_1",
			}[p.name]
		}
	})
}

// books are the remaining amounts of a payment's sale and of its partner's share, and its flags.
type books struct {
	sale, share int64
	open, flags int
}

// books returns the books of each sale, by charge.
func (h inboxed) books() map[string]books {
	h.T.Helper()
	out := map[string]books{}
	all := h.Get("/v1/risk_flags?limit=100&program_id=" + h.ProgramID).Data()
	for _, d := range h.Get("/v1/sales?limit=100&program_id=" + h.ProgramID).Data() {
		s := apitest.Answer{Body: d}
		b := books{sale: s.Int("amount_minor")}
		if s.Body["refunded_at"] != nil {
			b.sale = 0
		}
		for _, d := range h.Get("/v1/commissions?limit=100&sale_id=" + s.String("id") + "&program_id=" + h.ProgramID).Data() {
			if k := (apitest.Answer{Body: d}); k.String("status") != "voided" {
				b.share += k.Int("amount_minor")
			}
		}
		for _, f := range all {
			if f["evidence"].(M)["sale_id"] == s.String("id") {
				b.flags++
				if f["status"] == "open" {
					b.open++
				}
			}
		}
		out[s.String("external_charge_id")] = b
	}
	return out
}

// TestMoneyThatComesBack runs each row of the table in server/inbound/README.md. Among them are
// field case 8 (Paddle withdraws a warning, or loses a chargeback) and field case 22 (a credit note
// that was paid back outside Stripe).
func TestMoneyThatComesBack(t *testing.T) {
	t.Parallel()
	for _, p := range moneyProcessors {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			h := newMoney(t, p)
			for n, row := range p.rows {
				require.Contains(t, p.handled(), row.event, "an endpoint is sent the event")
				before := h.books()
				p.pay(h, n+1000)
				h.Work()
				h.Clock.Advance(time.Hour)
				for i, s := range row.before {
					p.say(h, n+1000, h.Clock.Now().Add(time.Duration(i-30)*time.Minute), s)
					h.Work()
				}
				p.say(h, n+1000, h.Clock.Now().Time, processorEvent{row.event, row.data})
				events := h.Work()
				e := events[len(events)-1]
				all := h.books()
				require.Len(t, all, len(before)+1)
				maps.DeleteFunc(all, func(charge string, _ books) bool { _, old := before[charge]; return old })
				for _, b := range all {
					h.hasEffect(row, e, b)
				}
			}
			apitest.Balanced(t, h.Server)
		})
	}
}

// hasEffect compares the event's effect with its row.
func (h inboxed) hasEffect(row moneyRow, e apitest.Answer, b books) {
	h.T.Helper()
	name := fmt.Sprint(row.event, " ", row.state, " ", e.Body)
	require.NotEqual(h.T, "not_used", e.Body["reason_code"], name)
	if e.String("status") != "recorded" {
		require.NotEmpty(h.T, e.Body["reason"], name)
	}
	sale, share, status, code := int64(2400), int64(480), "recorded", any(nil)
	switch row.effect {
	case takes:
		if h.Connection.Processor == connection.Chargebee && strings.HasPrefix(row.state, "payment") && !strings.HasPrefix(row.state, "payment_") {
			sale, share = 0, 0 // the whole payment
		} else {
			sale, share = 1500, 300
		}
	case asks:
		sale, share, status, code = 1500, 300, "failed", "refund_failed"
	case later:
		status, code = "ignored", "not_final"
	case nothing:
		status, code = "ignored", "no_money_moved"
	case flags:
		require.Equal(h.T, []int{1, 1}, []int{b.flags, b.open}, name)
	case closes:
		require.Equal(h.T, []int{1, 0}, []int{b.flags, b.open}, name)
	}
	require.Equal(h.T, []any{status, code, sale, share}, []any{e.Body["status"], e.Body["reason_code"], b.sale, b.share}, name)
	if row.effect != asks {
		return
	}
	e = h.Must(200, h.Post("/v1/inbox_events/"+e.String("id")+"/resolve", nil))
	require.Equal(h.T, []any{"recorded", nil}, []any{e.Body["status"], e.Body["reason_code"]}, name)
	require.NotNil(h.T, e.Body["refund_id"], name)
}

// TestTableOfMoney compares the table of README.md with the rows of the test.
func TestTableOfMoney(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	var written []string
	for line := range strings.SplitSeq(string(text), "\n") {
		if strings.HasPrefix(line, "| `") {
			written = append(written, line)
		}
	}
	var want []string
	for _, p := range moneyProcessors {
		for _, row := range p.rows {
			want = append(want, fmt.Sprintf("| `%s` | %s | %s | %s | `TestMoneyThatComesBack/%s` |", row.event, p.name, row.state,
				row.effect, p.name))
		}
	}
	require.Equal(t, strings.Join(want, "\n"), strings.Join(written, "\n"))
}
