package inbox_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/inbound/connection"
	"rail/server/inbound/lemonsqueezy"
)

// hook sends a body to the connection with one header, and requires that it is accepted.
func (h inboxed) hook(body []byte, header, value string) {
	h.T.Helper()
	r, err := http.NewRequestWithContext(h.T.Context(), http.MethodPost,
		h.URL+"/hooks/"+h.Connection.Processor+"/"+h.Connection.ID, bytes.NewReader(body))
	require.NoError(h.T, err)
	r.Header.Set(header, value)
	res, err := http.DefaultClient.Do(r)
	require.NoError(h.T, err)
	defer res.Body.Close()
	require.Equal(h.T, http.StatusOK, res.StatusCode)
}

// lemon sends an event as Lemon Squeezy does.
func (h inboxed) lemon(kind string, id int, click string, attributes M) {
	h.T.Helper()
	body, err := json.Marshal(M{
		"meta": M{"event_name": kind, "custom_data": M{"rail_click": click}},
		"data": M{"id": fmt.Sprint(id), "attributes": attributes},
	})
	require.NoError(h.T, err)
	mac := hmac.New(sha256.New, []byte(h.Connection.Signing))
	mac.Write(body)
	h.hook(body, lemonsqueezy.Header, hex.EncodeToString(mac.Sum(nil)))
}

func newLemon(t *testing.T) inboxed {
	t.Helper()
	return newInboxed(t, func(in *connection.Input) { in.Processor, in.Secret = connection.LemonSqueezy, "lemon-secret" })
}

// The first payment of a subscription arrives as an order and as an invoice, and so do its refunds.
// In either order they make one sale, refunded once.
func TestLemonSqueezy(t *testing.T) {
	t.Parallel()
	h := newLemon(t)
	all := orders(5)
	for i, order := range all {
		click, customer, subscription := h.Click(h.ProgramID, "ann").String("id"), i+1000, i+5000
		money := M{
			"customer_id": customer, "currency": "USD", "total": 5400, "tax": 900, "status": "paid", "test_mode": false,
			"subscription_id": subscription, "billing_reason": "initial", "refunded_amount": 500,
		}
		events := []func(){
			func() { h.lemon("order_created", i, click, money) },
			func() { h.lemon("subscription_payment_success", i, click, money) },
			func() { h.lemon("order_refunded", i, click, money) },
			func() { h.lemon("subscription_payment_refunded", i, click, money) },
			func() {
				h.lemon("subscription_created", subscription, click, M{
					"customer_id": customer, "order_id": i, "status": "active", "test_mode": false,
				})
			},
		}
		for _, at := range order {
			events[at]()
			apitest.RunJob(t, h.Server, "work-inbox")
		}
	}
	apitest.RunJob(t, h.Server, "work-inbox")
	sales := h.Get("/v1/sales?limit=100&program_id=" + h.ProgramID)
	require.EqualValues(t, len(all), sales.Int("total_count"))
	for _, d := range sales.Data() {
		s := apitest.Answer{Body: d}
		require.Equal(t, []any{int64(4900), int64(500), int64(817), "subscription", "lemon_squeezy", h.PartnerID}, []any{
			s.Int("amount_minor"), s.Int("refunded_minor"), s.Int("tax_minor"), s.String("billing_type"), s.String("processor"),
			s.String("partner_id"),
		}, "%v", d)
	}
	for _, d := range h.Get("/v1/commissions?limit=100&program_id=" + h.ProgramID).Data() {
		require.EqualValues(t, 980, apitest.Answer{Body: d}.Int("amount_minor"))
	}
	for _, status := range []string{"failed", "waiting", "pending"} {
		require.Zero(t, h.Get("/v1/inbox_events?status="+status+"&program_id="+h.ProgramID).Int("total_count"), status)
	}
	apitest.Balanced(t, h.Server)
}

// An order that no subscription names within a minute is a one-time payment. A subscription that
// names it later still finds it.
func TestLemonSqueezyOrder(t *testing.T) {
	t.Parallel()
	h := newLemon(t)
	click := h.Click(h.ProgramID, "ann").String("id")
	money := M{
		"customer_id": 7, "currency": "USD", "total": 2400, "tax": 400, "status": "paid", "test_mode": false,
		"first_order_item": M{"product_id": 3, "product_name": "Book"},
	}
	h.lemon("order_created", 1, click, money)
	h.Last("waiting", "unknown_subscription")
	h.Clock.Advance(time.Minute)
	e := h.Last("recorded", nil)
	sale := h.Get("/v1/sales/" + e.String("sale_id"))
	require.Equal(t, []any{"order:1", int64(2400), "one_time", "3", "Book"}, []any{
		sale.String("external_charge_id"), sale.Int("amount_minor"), sale.String("billing_type"), sale.String("product_id"),
		sale.String("product_name"),
	})
	h.lemon("order_created", 1, click, money)
	require.Len(t, h.Work(), 1, "another delivery")
	h.lemon("subscription_payment_refunded", 9, click, M{
		"subscription_id": 2, "billing_reason": "initial", "currency": "USD", "refunded_amount": 2400, "test_mode": false,
	})
	h.Last("waiting", "unknown_sale")
	h.lemon("subscription_created", 2, click, M{"order_id": 1, "status": "active", "customer_id": 7, "test_mode": false})
	h.Work()
	require.NotNil(t, h.Get("/v1/sales/" + e.String("sale_id")).Body["refunded_at"])
	h.lemon("subscription_payment_success", 10, click, M{
		"subscription_id": 2, "customer_id": 7, "billing_reason": "renewal", "currency": "USD", "total": 2400, "status": "paid",
		"test_mode": false,
	})
	renewal := h.Get("/v1/sales/" + h.Last("recorded", nil).String("sale_id"))
	require.Equal(t, []any{"subinv:10", "subscription"}, []any{renewal.String("external_charge_id"), renewal.String("billing_type")})
	h.lemon("order_created", 3, click, M{"test_mode": true, "currency": "USD", "total": 1, "status": "paid"})
	h.Last("ignored", "test_event")
	apitest.Balanced(t, h.Server)
}
