package paddle

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
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

// notification wraps data like a Paddle notification.
func notification(kind string, data members) []byte {
	b, _ := json.Marshal(members{
		"event_id": "evt_1", "event_type": kind, "occurred_at": "2026-03-01T12:00:00.123456Z", "notification_id": "ntf_1",
		"data": data,
	})
	return b
}

// transaction is a subscription's payment, as Paddle documents it.
func transaction(more members) members {
	t := members{
		"id": "txn_1", "status": "completed", "customer_id": "ctm_1", "subscription_id": "sub_1", "discount_id": "dsc_1",
		"currency_code": "USD", "origin": "subscription_recurring", "custom_data": members{"rail_click": click, "plan": "pro"},
		"items": []any{members{"quantity": 1, "price": members{
			"id": "pri_1", "product_id": "pro_1", "billing_cycle": members{"interval": "month", "frequency": 1},
		}}},
		"details": members{
			"totals": members{
				"subtotal": "2000", "discount": "0", "tax": "400", "total": "2400", "credit": "0", "grand_total": "2400",
				"fee": "170", "earnings": "1830", "currency_code": "USD",
			},
			"line_items": []any{members{"product": members{"id": "pro_1", "name": "Pro"}}},
		},
	}
	maps.Copy(t, more)
	return t
}

func adjustment(action, status, total, subtotal string) members {
	return members{
		"id": "adj_1", "action": action, "status": status, "transaction_id": "txn_1", "currency_code": "USD",
		"totals": members{"subtotal": subtotal, "tax": "0", "total": total},
	}
}

func read(t *testing.T, body []byte) processor.Reading {
	t.Helper()
	r, err := Source{}.Read(body)
	require.NoError(t, err)
	return r
}

// TestVerify checks the documented signature.
func TestVerify(t *testing.T) {
	t.Parallel()
	body, now := []byte(`{"a":1}`), clock.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	mac := hmac.New(sha256.New, []byte("s"))
	fmt.Fprintf(mac, "%d:%s", now.Unix(), body)
	header := http.Header{Header: {fmt.Sprintf("ts=%d;h1=%s", now.Unix(), hex.EncodeToString(mac.Sum(nil)))}}
	require.NoError(t, Source{}.Verify("s", header, body, now))
	require.Equal(t, processor.ErrSignature, Source{}.Verify("other", header, body, now))
	require.Equal(t, processor.ErrNoSignature, Source{}.Verify("s", http.Header{}, body, now))
}

// TestTransaction reads payments, with the included tax and fee.
func TestTransaction(t *testing.T) {
	t.Parallel()
	r := read(t, notification("transaction.completed", transaction(nil)))
	at := clock.At(time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC))
	require.Equal(t, processor.Reading{ID: "evt_1", Type: "transaction.completed", NoMode: true, At: at, Payment: &processor.Payment{
		Link: processor.Link{Charge: "txn_1"}, AmountMinor: 2400, TaxMinor: 400, FeeMinor: new(int64(170)), Currency: "USD", At: at,
		ProductID: "pro_1", ProductName: "Pro", Metadata: map[string]any{"plan": "pro"},
		Binding: processor.Binding{
			Customer: "ctm_1", Click: click, Coupon: []string{"dsc_1"}, Subscription: "sub_1", Interval: "month",
		},
	}}, r)
	totals := func(grand string) members {
		return transaction(members{"details": members{"totals": members{"tax": "400", "total": "2400", "grand_total": grand}}})
	}
	require.EqualValues(t, 200, read(t, notification("transaction.completed", totals("1200"))).Payment.TaxMinor)
	trial := read(t, notification("transaction.completed", totals("0")))
	require.Equal(t, processor.ZeroAmount, trial.Ignored)
	require.Equal(t, click, trial.Binding.Click)
	skip := transaction(members{"custom_data": members{"rail": "skip"}})
	out := read(t, notification("transaction.completed", skip))
	require.Equal(t, []any{processor.OptedOut, "txn_1"}, []any{out.Ignored, out.Link.Charge}, "its refunds are known by it")
}

// TestAdjustments: adjustments with and without a refund.
func TestAdjustments(t *testing.T) {
	t.Parallel()
	refund := read(t, notification("adjustment.updated", adjustment("refund", "approved", "900", "750"))).Refund
	require.Equal(t, []any{"txn_1", "adj_1", true, int64(900)}, []any{refund.Charge, refund.ID, refund.Single, refund.LevelMinor})
	rest := adjustment("refund", "approved", "900", "750")
	rest["type"] = "full"
	require.Zero(t, read(t, notification("adjustment.updated", rest)).Refund.LevelMinor, "the whole rest")
	lost := read(t, notification("adjustment.created", adjustment("chargeback", "approved", "2400", "2000"))).Dispute
	require.Equal(t, []any{"txn_1", "lost", int64(2400)}, []any{lost.Charge, lost.Status, lost.AmountMinor})
	warning := read(t, notification("adjustment.created", adjustment("chargeback_warning", "approved", "2400", "2000"))).Dispute
	require.Equal(t, []any{lost.ID, "open"}, []any{warning.ID, warning.Status})
	for _, none := range []members{
		adjustment("refund", "pending_approval", "900", "750"), adjustment("refund", "rejected", "900", "750"),
		adjustment("credit", "approved", "900", "750"), adjustment("credit_reverse", "approved", "900", "750"),
		adjustment("refund", "approved", "400", "0"),
	} {
		require.NotEmpty(t, read(t, notification("adjustment.updated", none)).Ignored, none["action"])
	}
}

// TestCustomers reads customers, subscriptions and discounts.
func TestCustomers(t *testing.T) {
	t.Parallel()
	b := read(t, notification("customer.created", members{"id": "ctm_1", "email": "ann@acme.example", "name": "Ann"})).Binding
	require.Equal(t, processor.Binding{Customer: "ctm_1", Email: "ann@acme.example", Name: "Ann", CustomerOnly: true}, *b)
	require.True(t, read(t, notification("customer.updated", members{"id": "ctm_1", "custom_data": members{"rail": "skip"}})).Binding.Skip)
	b = read(t, notification("subscription.trialing", members{
		"id": "sub_1", "status": "trialing", "customer_id": "ctm_1", "billing_cycle": members{"interval": "year"},
	})).Binding
	require.Equal(t, processor.Binding{Customer: "ctm_1", Subscription: "sub_1", Interval: "year", Status: "trial"}, *b)
	require.Equal(t, &processor.Coupon{ID: "dsc_1", Code: "FALL"},
		read(t, notification("discount.updated", members{"id": "dsc_1", "code": "FALL", "status": "archived"})).Coupon)
	require.Equal(t, processor.NotUsed, read(t, notification("payout.paid", members{})).Ignored)
	require.Contains(t, Events(), "transaction.completed")
}

// TestMalformed names the missing member.
func TestMalformed(t *testing.T) {
	t.Parallel()
	money := transaction(nil)
	delete(money["details"].(members)["totals"].(members), "grand_total")
	for member, body := range map[string][]byte{
		"The body":                        []byte("{"),
		"event_id":                        []byte("[]"),
		"event_type":                      []byte(`{"event_id":"e"}`),
		"occurred_at":                     []byte(`{"event_id":"e","event_type":"transaction.completed","occurred_at":7}`),
		"data.id":                         notification("transaction.completed", nil),
		"data.currency_code":              notification("transaction.completed", transaction(members{"currency_code": 5})),
		"data.details.totals.grand_total": notification("transaction.completed", money),
		"data.transaction_id":             notification("adjustment.updated", members{"id": "a", "action": "refund", "status": "approved"}),
		"data.status":                     notification("discount.updated", members{"id": "dsc_1"}),
	} {
		_, err := Source{}.Read(body)
		require.Equal(t, processor.MalformedError{Member: member}, err)
	}
}

func samples() [][]byte {
	return [][]byte{
		notification("transaction.completed", transaction(nil)), notification("subscription.created", transaction(nil)),
		notification("adjustment.updated", adjustment("refund", "approved", "900", "750")),
		notification("adjustment.created", adjustment("chargeback", "approved", "900", "750")),
		notification("customer.created", members{"id": "ctm_1", "email": "ann@acme.example", "custom_data": members{"rail": "skip"}}),
		notification("discount.updated", members{"id": "dsc_1", "code": "FALL", "status": "active"}),
	}
}

// TestEveryMemberMayChange removes and retypes every member of events.
func TestEveryMemberMayChange(t *testing.T) {
	t.Parallel()
	lenient.Changes(t, Source{}.Read, samples()...)
}

// FuzzRead reads any input, and returns a reading or the reason for none.
func FuzzRead(f *testing.F) { lenient.Fuzz(f, Source{}.Read, samples()...) }
