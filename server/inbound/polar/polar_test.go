package polar

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
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

func notification(kind string, data any) []byte {
	b, _ := json.Marshal(members{"type": kind, "timestamp": "2026-03-01T12:00:00Z", "data": data})
	return b
}

// order is a subscription's order, as Polar documents it.
func order(more members) members {
	o := members{
		"id": "ord-1", "status": "paid", "paid": true, "subtotal_amount": 2000, "discount_amount": 0, "net_amount": 2000,
		"tax_amount": 400, "total_amount": 2400, "refunded_amount": 0, "refunded_tax_amount": 0, "currency": "usd",
		"platform_fee_amount": 130, "billing_reason": "subscription_create", "customer_id": "cu-1", "product_id": "pr-1",
		"discount_id": "di-1", "subscription_id": "su-1", "metadata": members{"rail_click": click, "plan": "pro"},
		"customer": members{"id": "cu-1", "email": "ann@acme.example", "name": "Ann", "external_id": "user-7"},
		"product":  members{"id": "pr-1", "name": "Pro", "recurring_interval": "month"},
	}
	maps.Copy(o, more)
	return o
}

func read(t *testing.T, body []byte) processor.Reading {
	t.Helper()
	r, err := Source{}.Read(body)
	require.NoError(t, err)
	return r
}

// TestVerify: the key is the text of the secret.
func TestVerify(t *testing.T) {
	t.Parallel()
	body, now := []byte(`{}`), clock.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	signed := func(key string, at int64) http.Header {
		mac := hmac.New(sha256.New, []byte(key))
		fmt.Fprintf(mac, "msg_1.%d.%s", at, body)
		h := http.Header{}
		h.Set("webhook-id", "msg_1")
		h.Set("webhook-timestamp", fmt.Sprint(at))
		h.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
		return h
	}
	good := signed("polar_whs_x", now.Unix())
	require.NoError(t, Source{}.Verify("polar_whs_x", good, body, now))
	require.Equal(t, "msg_1", Source{}.EventID(good))
	require.Error(t, Source{}.Verify("polar_whs_y", good, body, now))
	require.Error(t, Source{}.Verify("polar_whs_x", signed("polar_whs_x", now.Unix()-301), body, now))
	require.Error(t, Source{}.Verify("polar_whs_x", http.Header{}, body, now))
}

// TestOrders reads payments, and their total refunds.
func TestOrders(t *testing.T) {
	t.Parallel()
	at := clock.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	require.Equal(t, processor.Reading{Type: "order.paid", NoMode: true, At: at, Payment: &processor.Payment{
		Link: processor.Link{Charge: "ord-1"}, AmountMinor: 2400, TaxMinor: 400, FeeMinor: new(int64(130)), Currency: "USD", At: at,
		ProductID: "pr-1", ProductName: "Pro", Metadata: map[string]any{"plan": "pro"},
		Binding: processor.Binding{
			Customer: "cu-1", Identifier: "user-7", Email: "ann@acme.example", Name: "Ann", Click: click,
			Coupon: []string{"di-1"}, Subscription: "su-1", Interval: "month",
		},
	}}, read(t, notification("order.paid", order(nil))))
	linked := order(members{"metadata": members{"reference_id": click}, "due_amount": 1200})
	p := read(t, notification("order.paid", linked)).Payment
	require.Equal(t, []any{click, int64(1200), int64(200)}, []any{p.Click, p.AmountMinor, p.TaxMinor}, "half from the balance")
	other := order(members{"metadata": members{"reference_id": "campaign 7"}})
	require.Empty(t, read(t, notification("order.paid", other)).Payment.Click)
	free := read(t, notification("order.paid", order(members{"total_amount": 0})))
	require.Equal(t, processor.ZeroAmount, free.Ignored)
	require.Equal(t, click, free.Binding.Click)
	skip := order(members{"metadata": members{"rail": "skip"}})
	r := read(t, notification("order.paid", skip))
	require.Equal(t, []any{processor.OptedOut, "ord-1"}, []any{r.Ignored, r.Link.Charge}, "its refunds are known by it")
	back := order(members{"refunded_amount": 500, "refunded_tax_amount": 100})
	require.Equal(t, &processor.Refund{
		Link: processor.Link{Charge: "ord-1"}, LevelMinor: 600, OfMinor: 2400, Currency: "USD", At: at,
	}, read(t, notification("order.refunded", back)).Refund)
	all := order(members{"refunded_amount": 2400, "refunded_tax_amount": 400})
	require.EqualValues(t, 2400, read(t, notification("order.refunded", all)).Refund.LevelMinor)
	require.Equal(t, processor.ZeroAmount, read(t, notification("order.refunded", order(nil))).Ignored)
}

// TestCustomers reads customers and subscriptions.
func TestCustomers(t *testing.T) {
	t.Parallel()
	k := members{"id": "cu-1", "email": "ann@acme.example", "external_id": "user-7"}
	require.Equal(t, processor.Binding{Customer: "cu-1", Identifier: "user-7", Email: "ann@acme.example", CustomerOnly: true},
		*read(t, notification("customer.created", k)).Binding)
	k["metadata"] = members{"rail": "skip"}
	require.True(t, read(t, notification("customer.updated", k)).Binding.Skip)
	for kind, want := range map[string]string{
		"subscription.updated": "active", "subscription.revoked": "cancelled",
	} {
		b := read(t, notification(kind, members{
			"id": "su-1", "status": "active", "customer_id": "cu-1", "recurring_interval": "year",
		})).Binding
		require.Equal(t, processor.Binding{Customer: "cu-1", Subscription: "su-1", Interval: "year", Status: want}, *b)
	}
	require.Equal(t, processor.NotUsed, read(t, notification("benefit.created", nil)).Ignored)
	require.Contains(t, Events(), "order.paid")
}

// TestMalformed names the missing member.
func TestMalformed(t *testing.T) {
	t.Parallel()
	for member, body := range map[string][]byte{
		"The body":             []byte("{"),
		"type":                 []byte("[]"),
		"data.id":              notification("order.paid", "x"),
		"data.currency":        notification("order.paid", order(members{"currency": 5})),
		"data.total_amount":    notification("order.paid", order(members{"total_amount": "a lot"})),
		"data.refunded_amount": notification("order.refunded", order(members{"refunded_amount": nil})),
	} {
		_, err := Source{}.Read(body)
		require.Equal(t, processor.MalformedError{Member: member}, err)
	}
}

func samples() [][]byte {
	return [][]byte{
		notification("order.paid", order(members{"due_amount": 1200})), notification("order.paid", order(nil)),
		notification("order.refunded", order(members{"refunded_amount": 500, "refunded_tax_amount": 100})),
		notification("order.refunded", order(members{"refunded_amount": 1 << 62, "refunded_tax_amount": 1 << 62})),
		notification("subscription.revoked", order(nil)), notification("customer.created", order(nil)),
	}
}

// TestEveryMemberMayChange removes and retypes every member of events.
func TestEveryMemberMayChange(t *testing.T) {
	t.Parallel()
	lenient.Changes(t, Source{}.Read, samples()...)
}

// FuzzRead reads any input, and returns a reading or the reason for none.
func FuzzRead(f *testing.F) { lenient.Fuzz(f, Source{}.Read, samples()...) }
