package inbox_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/inbound/connection"
)

// TestChargebee: a payment, its customer, which alone has the click, and two refunds make one sale
// with the remaining amount, in every order.
func TestChargebee(t *testing.T) {
	t.Parallel()
	h := newInboxed(t, func(in *connection.Input) { in.Processor = connection.Chargebee })
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte(h.Connection.Signing))
	all := orders(4)
	for i, order := range all {
		customer, charge := fmt.Sprint("cu_", i), fmt.Sprint("txn_", i)
		transaction := func(more M) M {
			t := M{
				"id": charge, "customer_id": customer, "type": "payment", "status": "success", "currency_code": "USD", "amount": 2400,
			}
			maps.Copy(t, more)
			return M{"transaction": t}
		}
		paid := transaction(nil)
		paid["invoice"] = M{"total": 2400, "tax": 400, "currency_code": "USD"}
		paid["subscription"] = M{"id": "sub_1", "status": "active", "billing_period_unit": "month"}
		refund := func(id string, amount int) M {
			return transaction(M{"id": charge + id, "type": "refund", "amount": amount, "refunded_txn_id": charge})
		}
		contents := []M{
			paid, {"customer": M{"id": customer, "cf_rail_click": h.Click(h.ProgramID, "ann").String("id")}},
			refund("a", 500), refund("b", 400),
		}
		for _, at := range order {
			kind := []string{"payment_succeeded", "customer_created", "payment_refunded", "transaction_created"}[at]
			body, err := json.Marshal(M{
				"id": fmt.Sprint("ev_", i, "_", at), "event_type": kind, "occurred_at": h.Clock.Now().Unix(), "content": contents[at],
			})
			require.NoError(t, err)
			h.hook(body, "Authorization", basic)
			h.hook(body, "Authorization", basic)
			apitest.RunJob(t, h.Server, "work-inbox")
		}
	}
	apitest.RunJob(t, h.Server, "work-inbox")
	sales := h.Get("/v1/sales?limit=100&program_id=" + h.ProgramID)
	require.EqualValues(t, len(all), sales.Int("total_count"))
	for _, d := range sales.Data() {
		s := apitest.Answer{Body: d}
		require.Equal(t, []any{int64(1500), int64(900), "month", "chargebee", h.PartnerID}, []any{
			s.Int("amount_minor"), s.Int("refunded_minor"), s.String("interval"), s.String("processor"), s.String("partner_id"),
		}, "%v", d)
	}
	for _, d := range h.Get("/v1/commissions?limit=100&program_id=" + h.ProgramID).Data() {
		require.EqualValues(t, 300, apitest.Answer{Body: d}.Int("amount_minor"))
	}
	require.EqualValues(t, 4*len(all), h.Total("inbox_events"))
	for _, status := range []string{"failed", "waiting", "pending"} {
		require.Zero(t, h.Get("/v1/inbox_events?status="+status+"&program_id="+h.ProgramID).Int("total_count"), status)
	}
	apitest.Balanced(t, h.Server)
}
