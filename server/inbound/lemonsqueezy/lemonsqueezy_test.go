package lemonsqueezy

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
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
	created = clock.At(time.Date(2026, 1, 17, 12, 26, 23, 0, time.UTC))
	updated = clock.At(time.Date(2026, 1, 17, 12, 26, 24, 0, time.UTC))
)

// notification builds a Lemon Squeezy webhook, with the documented attributes of each object.
func notification(kind, id string, attributes, more members) []byte {
	a := members{
		"store_id": 1, "customer_id": 7, "user_name": "Ann", "user_email": "ann@acme.example", "test_mode": false,
		"created_at": "2026-01-17T12:26:23.000000Z", "updated_at": "2026-01-17T12:26:24.000000Z",
	}
	maps.Copy(a, attributes)
	maps.Copy(a, more)
	b, _ := json.Marshal(members{
		"meta": members{"event_name": kind, "custom_data": members{"rail_click": click, "plan": "pro"}},
		"data": members{"type": "x", "id": id, "attributes": a},
	})
	return b
}

func order(kind string, more members) []byte {
	return notification(kind, "1", members{
		"identifier": "89b36d62-4f5c-4353-853f-0c769d0535c8", "order_number": 1, "currency": "EUR", "currency_rate": "1.10000000",
		"setup_fee": 0, "subtotal": 5000, "discount_total": 500, "tax": 900, "total": 5400, "total_usd": 5940, "tax_inclusive": false,
		"status": "paid", "refunded": false, "refunded_at": nil, "refunded_amount": 0,
		"first_order_item": members{"order_id": 1, "product_id": 3, "variant_id": 4, "product_name": "Pro", "price": 5000},
	}, more)
}

func invoice(kind string, more members) []byte {
	return notification(kind, "5", members{
		"subscription_id": 2, "billing_reason": "renewal", "currency": "USD", "currency_rate": "1.00000000", "status": "paid",
		"refunded": false, "refunded_at": nil, "subtotal": 999, "discount_total": 0, "tax": 99, "tax_inclusive": true, "total": 999,
		"refunded_amount": 0, "total_usd": 999,
	}, more)
}

func subscription(kind string, more members) []byte {
	return notification(kind, "2", members{
		"order_id": 1, "order_item_id": 2, "product_id": 3, "variant_id": 4, "product_name": "Pro", "variant_name": "Default",
		"status": "active", "cancelled": false, "renews_at": "2026-02-17T12:26:23.000000Z", "ends_at": nil,
	}, more)
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
	body, now := []byte(`{}`), clock.At(time.Now())
	signed := func(secret string) http.Header {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(body)
		return http.Header{Header: {hex.EncodeToString(mac.Sum(nil))}}
	}
	require.NoError(t, Source{}.Verify("s", signed("s"), body, now))
	require.Equal(t, processor.ErrSignature, Source{}.Verify("s", signed("other"), body, now))
	require.Equal(t, processor.ErrSignature, Source{}.Verify("s", signed("s"), []byte("{ }"), now))
	for _, h := range []http.Header{{}, {Header: {""}}, {Header: {"zz"}}} {
		require.Equal(t, processor.ErrNoSignature, Source{}.Verify("s", h, body, now))
	}
	require.Equal(t, processor.ErrNoSignature, Source{}.Verify("", signed(""), body, now))
}

// TestOrder reads an order with or without a payment.
func TestOrder(t *testing.T) {
	t.Parallel()
	require.Equal(t, processor.Reading{Type: "order_created", Live: true, At: updated, Payment: &processor.Payment{
		Link: processor.Link{Charge: "order:1"}, AmountMinor: 5400, TaxMinor: 900, Currency: "EUR", At: created,
		ProductID: "3", ProductName: "Pro", Metadata: map[string]any{"plan": "pro"}, Recurs: "first payment by order:1",
		Binding: processor.Binding{Customer: "7", Email: "ann@acme.example", Name: "Ann", Click: click},
	}}, read(t, order("order_created", nil)))
	require.False(t, read(t, order("order_created", members{"test_mode": true})).Live)
	require.True(t, read(t, order("order_created", members{"test_mode": nil})).NoMode)
	free := read(t, order("order_created", members{"total": 0, "total_usd": 0}))
	require.Equal(t, []any{processor.ZeroAmount, click}, []any{free.Ignored, free.Binding.Click})
	require.Equal(t, processor.NotUsed, read(t, order("order_created", members{"status": "failed"})).Ignored)
	require.Equal(t, processor.OptedOut, read(t, []byte(`{"meta":{"event_name":"order_created","custom_data":{"rail":"skip"}},
		"data":{"id":"1"}}`)).Ignored)
	require.Equal(t, processor.NotUsed, read(t, []byte(`{"meta":{"event_name":"license_key_created"}}`)).Ignored)
	require.Contains(t, Events(), "order_created")
}

// TestCurrencies: amounts of a currency without cents are in its unit or in hundredths, as the total in dollars
// shows.
func TestCurrencies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code, rate string
		total, usd any
		want       int64
	}{
		{"JPY", "0.00670000", 1500, 1005, 1500}, {"JPY", "0.00670000", 150000, 1005, 1500},
		{"KWD", "3.25000000", 12340, 4011, 12340}, {"KWD", "3.25000000", 1234, 4011, 12340},
		{"JPY", "0.00670000", 1, 1, 1}, {"JPY", "", 1500, 1005, 0}, {"JPY", "0.00670000", 1500, nil, 0},
		{"JPY", "0.00670000", 150050, 1005, 0}, {"JPY", "1.00000000", 1500, 7, 0}, {"USD", "", 1500, nil, 1500},
	} {
		r, err := Source{}.Read(order("order_created", members{
			"currency": c.code, "currency_rate": c.rate, "total": c.total, "total_usd": c.usd, "tax": 0,
		}))
		if c.want == 0 {
			require.Error(t, err, c)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, r.Payment.AmountMinor, c)
	}
}

// TestSubscription: the order reports a subscription's first payment, and the subscription names it.
func TestSubscription(t *testing.T) {
	t.Parallel()
	r := read(t, invoice("subscription_payment_success", nil))
	require.Equal(t, &processor.Payment{
		Link: processor.Link{Charge: "subinv:5"}, AmountMinor: 999, TaxMinor: 99, Currency: "USD", At: created,
		Metadata: map[string]any{"plan": "pro"},
		Binding: processor.Binding{
			Customer: "7", Email: "ann@acme.example", Name: "Ann", Click: click, Subscription: "2",
		},
	}, r.Payment)
	require.Equal(t, processor.BindsOnly, read(t, invoice("subscription_payment_success", members{"billing_reason": "initial"})).Ignored)
	for status, want := range map[string]string{
		"on_trial": "trial", "active": "active", "cancelled": "", "expired": "cancelled", "past_due": "",
	} {
		r := read(t, subscription("subscription_updated", members{"status": status}))
		require.Equal(t, []any{"2", want}, []any{r.Binding.Subscription, r.Binding.Status})
		require.Equal(t, processor.Link{
			Charge: "order:1", Alias: []string{"first payment of subscription:2", "first payment by order:1"},
		}, r.Link)
	}
}

// TestRefunds reads refunded amounts, under the event's name of the payment.
func TestRefunds(t *testing.T) {
	t.Parallel()
	some := members{"refunded_amount": 100}
	all := members{"refunded": true, "refunded_amount": nil, "status": "refunded"}
	for _, c := range []struct {
		body      []byte
		name      string
		level, of int64
	}{
		{order("order_refunded", some), "order:1", 100, 5400},
		{order("order_refunded", all), "order:1", 5400, 5400},
		{invoice("subscription_payment_refunded", some), "subinv:5", 100, 999},
		{invoice("subscription_payment_refunded", members{
			"billing_reason": "initial", "refunded_amount": 999, "refunded": true,
		}), "first payment of subscription:2", 999, 999},
	} {
		f := read(t, c.body).Refund
		require.Equal(t, []any{c.name, c.level, c.of, true}, []any{f.Charge, f.LevelMinor, f.OfMinor, f.OfSale})
	}
	require.Equal(t, processor.ZeroAmount, read(t, order("order_refunded", nil)).Ignored)
}

// TestMalformed names the missing member.
func TestMalformed(t *testing.T) {
	t.Parallel()
	success, back := "subscription_payment_success", "subscription_payment_refunded"
	for _, c := range []struct {
		member string
		body   []byte
	}{
		{"The body", []byte("{")},
		{"meta.event_name", []byte("[]")},
		{"data.id", []byte(`{"meta":{"event_name":"order_created"}}`)},
		{"data.attributes.status", order("order_created", members{"status": nil})},
		{"data.attributes.currency", order("order_created", members{"currency": "euro"})},
		{"data.attributes.total", order("order_created", members{"total": "much"})},
		{"data.attributes.billing_reason", invoice(success, members{"billing_reason": nil})},
		{"data.attributes.billing_reason", invoice(back, members{"billing_reason": nil})},
		{"data.attributes.subscription_id", invoice(back, members{"billing_reason": "initial", "subscription_id": nil})},
		{"data.attributes.refunded_amount", order("order_refunded", members{"refunded_amount": nil})},
	} {
		_, err := Source{}.Read(c.body)
		require.Equal(t, processor.MalformedError{Member: c.member}, err)
	}
}

func samples() [][]byte {
	var all [][]byte
	for kind := range readers {
		all = append(all, order(kind, members{"refunded_amount": 100}), subscription(kind, nil),
			order(kind, members{"currency": "JPY", "currency_rate": "0.0067", "total_usd": 36}),
			invoice(kind, members{"billing_reason": "initial", "refunded": true, "status": "refunded"}))
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
