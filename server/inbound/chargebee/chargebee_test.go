package chargebee

import (
	"encoding/json"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/lenient"
	"rail/server/inbound/processor"
)

type members = map[string]any

const click = "clk_01kb2m4q8e7v9t3n5x6c0d1f2g"

var (
	happened = clock.At(time.Unix(1772366400, 0))
	dated    = clock.At(time.Unix(1772366390, 0))
)

func notification(kind, version string, content members) []byte {
	b, _ := json.Marshal(members{
		"id": "ev_1", "occurred_at": 1772366400, "source": "api", "object": "event", "api_version": version,
		"event_type": kind, "webhook_status": "scheduled", "content": content,
	})
	return b
}

func with(base, more members) members {
	out := maps.Clone(base)
	maps.Copy(out, more)
	return out
}

func paid(more members) members {
	return with(members{
		"id": "txn_1", "customer_id": "cu_1", "subscription_id": "sub_1", "gateway": "stripe", "type": "payment",
		"payment_method": "card", "date": 1772366390, "amount": 2400, "currency_code": "USD", "status": "success",
		"id_at_gateway": "ch_1", "object": "transaction",
	}, more)
}

func back(more members) members {
	return with(paid(members{
		"id": "txn_2", "type": "refund", "amount": 500, "refunded_txn_id": "txn_1",
	}), more)
}

var customerOf = members{
	"id": "cu_1", "first_name": "Ann", "last_name": "Lee", "email": "ann@acme.example", "object": "customer",
	"meta_data": members{"plan": "pro", "rail_customer": "user-7"},
}

// v1 returns a payment's content in API v1.
func v1(t members) members {
	return members{
		"transaction": t, "customer": customerOf,
		"subscription": members{"id": "sub_1", "plan_id": "pro", "status": "active", "cf_rail_click": click, "coupon": "FALL"},
		"invoice": members{
			"id": "17", "customer_id": "cu_1", "subscription_id": "sub_1", "amount": 2400, "tax": 400, "amount_paid": 2400,
			"currency_code": "USD", "line_items": []any{members{"entity_type": "plan", "entity_id": "pro", "description": "Pro"}},
			"discounts":           []any{members{"type": "coupon", "entity_id": "FALL", "amount": 100}, members{"type": "account_credits"}},
			"linked_transactions": []any{members{"txn_id": "txn_1", "txn_type": "payment", "txn_status": "success"}},
		},
	}
}

// v2 returns the same in API v2.
func v2(t members) members {
	return members{
		"transaction": t, "customer": customerOf,
		"subscription": members{
			"id": "sub_1", "customer_id": "cu_1", "status": "active", "billing_period": 1, "billing_period_unit": "month",
			"cf_rail_click": click, "coupons": []any{members{"coupon_id": "FALL", "coupon_code": "FALL-7"}},
		},
		"invoice": members{
			"id": "17", "customer_id": "cu_1", "subscription_id": "sub_1", "total": 2400, "tax": 400, "currency_code": "USD",
			"line_items": []any{
				members{"entity_type": "plan_item_price", "entity_id": "pro", "description": "Pro"},
				members{"entity_type": "adhoc", "entity_id": nil, "description": "Set up"},
			},
			"discounts":       []any{members{"entity_type": "document_level_coupon", "entity_id": "FALL", "coupon_set_code": "FALL-7"}},
			"linked_payments": []any{members{"txn_id": "txn_1", "txn_status": "success", "applied_amount": 2400}},
		},
	}
}

func read(t *testing.T, body []byte) processor.Reading {
	t.Helper()
	r, err := Source{}.Read(body)
	require.NoError(t, err)
	return r
}

// TestVerify: the user and the password authenticate.
func TestVerify(t *testing.T) {
	t.Parallel()
	const secret = "rail:a password: of some length"
	as := func(user, password string) http.Header {
		r := http.Request{Header: http.Header{}}
		r.SetBasicAuth(user, password)
		return r.Header
	}
	verify := func(secret string, h http.Header) error { return Source{}.Verify(secret, h, nil, clock.Time{}) }
	require.NoError(t, verify(secret, as("rail", "a password: of some length")))
	for _, h := range []http.Header{as("rail", "other"), as("rai", "l:a password: of some length"), as("", ""), as(secret, "")} {
		require.Equal(t, processor.ErrSignature, verify(secret, h))
	}
	for _, h := range []http.Header{{}, {"Authorization": {"Bearer x"}}, {"Authorization": {"Basic ?"}}} {
		require.Equal(t, processor.ErrNoSignature, verify(secret, h))
	}
	require.Equal(t, processor.ErrNoSignature, verify("", as("", "")))
}

// TestPayment reads payments in both versions, with the included tax.
func TestPayment(t *testing.T) {
	t.Parallel()
	want := processor.Reading{ID: "ev_1", Type: "payment_succeeded", NoMode: true, At: happened, Payment: &processor.Payment{
		Link: processor.Link{Charge: "txn_1"}, AmountMinor: 2400, TaxMinor: 400, Currency: "USD", At: dated,
		ProductID: "pro", ProductName: "Pro", Metadata: map[string]any{"plan": "pro"},
		Binding: processor.Binding{
			Customer: "cu_1", Identifier: "user-7", Email: "ann@acme.example", Name: "Ann Lee", Click: click,
			Coupon: []string{"FALL"}, Subscription: "sub_1",
		},
	}}
	require.Equal(t, want, read(t, notification("payment_succeeded", "v1", v1(paid(nil)))))
	want.Payment.Interval, want.Payment.Coupon = "month", []string{"FALL-7", "FALL"}
	require.Equal(t, want, read(t, notification("payment_succeeded", "v2", v2(paid(nil)))))
	for _, c := range []struct {
		more        members
		amount, tax int64
	}{
		{members{"amount": 1200}, 1200, 200}, // credit or another payment paid the rest
		{members{"amount": 5000}, 5000, 400}, // of several invoices
		{members{"amount": 1200, "currency_code": "JPY"}, 1200, 0},
		{members{"amount": 1200, "currency_code": "KWD"}, 12000, 0},
		{members{"currency_code": nil}, 2400, 400},
	} {
		p := read(t, notification("payment_succeeded", "v2", v2(paid(c.more)))).Payment
		require.Equal(t, []any{c.amount, c.tax}, []any{p.AmountMinor, p.TaxMinor}, c.more)
	}
	for reason, more := range map[processor.Reason]members{
		processor.ZeroAmount: {"amount": 0}, processor.NotUsed: {"type": "authorization"},
	} {
		r := read(t, notification("payment_succeeded", "v2", v2(paid(more))))
		require.Equal(t, []any{reason, click}, []any{r.Ignored, r.Binding.Click})
	}
	skip := v2(paid(nil))
	skip["customer"] = with(customerOf, members{"cf_rail": "skip"})
	r := read(t, notification("payment_succeeded", "v2", skip))
	require.Equal(t, []any{processor.OptedOut, "txn_1"}, []any{r.Ignored, r.Link.Charge})
	require.Equal(t, processor.NotUsed, read(t, notification("invoice_generated", "v2", v2(nil))).Ignored)
	require.Contains(t, Events(), "payment_succeeded")
}

// TestRefunds reads refunds and their payments.
func TestRefunds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind    string
		content members
		id      string
		level   int64
		failed  bool
	}{
		{"payment_refunded", v1(back(nil)), "txn_2", 500, false},
		{"payment_refunded", v2(back(members{"refunded_txn_id": nil, "reference_transaction_id": "txn_1"})), "txn_2", 500, false},
		{"payment_refunded", v1(back(members{"refunded_txn_id": nil})), "txn_2", 500, false},
		{"payment_refunded", v2(back(members{"refunded_txn_id": nil})), "txn_2", 500, false},
		{"transaction_created", members{"transaction": back(members{"type": "payment_reversal"})}, "txn_2", 500, false},
		{"transaction_updated", members{"transaction": back(members{"status": "late_failure"})}, "txn_2", 500, true},
		{"transaction_updated", members{"transaction": paid(members{
			"status": "late_failure", "reversal_transaction_id": "txn_3",
		})}, "txn_3", 0, false},
	} {
		f := read(t, notification(c.kind, "v2", c.content)).Refund
		require.Equal(t, []any{"txn_1", c.id, c.level, true, c.failed}, []any{f.Charge, f.ID, f.LevelMinor, f.Single, f.Failed})
	}
	for status, want := range map[string]processor.Reason{
		"in_progress": processor.NotFinal, "needs_attention": processor.NotFinal, "failure": processor.NoMoneyMoved,
	} {
		r := read(t, notification("transaction_created", "v2", members{"transaction": back(members{"status": status})}))
		require.Equal(t, want, r.Ignored, status)
	}
	r := read(t, notification("transaction_created", "v2", members{"transaction": paid(nil)}))
	require.Equal(t, processor.NoMoneyMoved, r.Ignored)
}

// TestCustomers reads customers, subscriptions and coupons.
func TestCustomers(t *testing.T) {
	t.Parallel()
	b := read(t, notification("customer_created", "v2", members{"customer": customerOf})).Binding
	require.Equal(t, processor.Binding{
		Customer: "cu_1", Identifier: "user-7", Email: "ann@acme.example", Name: "Ann Lee", CustomerOnly: true,
	}, *b)
	skip := members{"customer": with(customerOf, members{"meta_data": members{"rail": "skip"}})}
	require.True(t, read(t, notification("customer_changed", "v2", skip)).Binding.Skip)
	for status, want := range map[string]string{"in_trial": "trial", "active": "active", "non_renewing": "", "cancelled": "cancelled"} {
		s := members{"id": "sub_1", "customer_id": "cu_1", "status": status}
		require.Equal(t, want, read(t, notification("subscription_changed", "v2", members{"subscription": s})).Binding.Status)
		require.Equal(t, "cancelled", read(t, notification("subscription_deleted", "v2", members{"subscription": s})).Binding.Status)
	}
	for status, active := range map[string]bool{"active": true, "archived": false} {
		c := members{"coupon": members{"id": "FALL", "status": status}}
		require.Equal(t, active, read(t, notification("coupon_updated", "v2", c)).Coupon.Active)
		require.False(t, read(t, notification("coupon_deleted", "v2", c)).Coupon.Active)
	}
}

// TestMalformed names the missing member.
func TestMalformed(t *testing.T) {
	t.Parallel()
	several := v2(back(members{"refunded_txn_id": nil}))
	several["invoice"] = members{"linked_payments": []any{members{"txn_id": "txn_1"}, members{"txn_id": "txn_9"}}}
	for _, c := range []struct {
		member string
		body   []byte
	}{
		{"The body", []byte("{")},
		{"id", []byte("[]")},
		{"event_type", []byte(`{"id":"ev_1"}`)},
		{"content.transaction.id", notification("payment_succeeded", "v2", nil)},
		{"content.transaction.id", notification("payment_refunded", "v2", nil)},
		{"content.transaction.status", notification("payment_succeeded", "v2", v2(paid(members{"status": nil})))},
		{"content.transaction.status", notification("payment_refunded", "v2", v2(back(members{"status": nil})))},
		{"content.transaction.type", notification("payment_refunded", "v2", v2(back(members{"type": nil})))},
		{"content.transaction.amount", notification("payment_succeeded", "v2", v2(paid(members{"amount": -1})))},
		{"content.transaction.currency_code", notification("payment_succeeded", "v2", v2(paid(members{"currency_code": "$"})))},
		{"content.transaction.refunded_txn_id", notification("payment_refunded", "v2", several)},
		{"content.subscription.id", notification("subscription_created", "v2", nil)},
		{"content.customer.id", notification("customer_created", "v2", nil)},
		{"content.coupon.id", notification("coupon_updated", "v2", nil)},
		{"content.coupon.status", notification("coupon_updated", "v2", members{"coupon": members{"id": "FALL"}})},
	} {
		_, err := Source{}.Read(c.body)
		require.Equal(t, processor.MalformedError{Member: c.member}, err)
	}
}

func samples() [][]byte {
	all := [][]byte{notification("coupon_updated", "v2", members{"coupon": members{"id": "FALL", "status": "active"}})}
	for _, version := range []func(members) members{v1, v2} {
		all = append(all, notification("payment_succeeded", "", version(paid(nil))),
			notification("payment_succeeded", "", version(paid(members{"currency_code": "KWD"}))),
			notification("payment_refunded", "", version(back(nil))),
			notification("payment_refunded", "", version(back(members{"refunded_txn_id": nil}))),
			notification("transaction_updated", "", version(paid(members{"status": "late_failure"}))),
			notification("subscription_created", "", version(nil)), notification("customer_changed", "", version(nil)))
	}
	return all
}

// TestEveryMemberMayChange removes and retypes every member of events.
func TestEveryMemberMayChange(t *testing.T) {
	t.Parallel()
	lenient.Changes(t, Source{}.Read, samples()...)
}

// FuzzRead reads any input, and returns a reading or the reason for none.
func FuzzRead(f *testing.F) { lenient.Fuzz(f, Source{}.Read, samples()...) }
