package inbox_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/inbound/connection"
	"rail/server/inbound/paddle"
)

// notify sends a notification as Paddle does.
func (h inboxed) notify(id, kind string, data M) {
	h.T.Helper()
	now := h.Clock.Now()
	body, err := json.Marshal(M{"event_id": id, "event_type": kind, "occurred_at": now, "data": data})
	require.NoError(h.T, err)
	mac := hmac.New(sha256.New, []byte(h.Connection.Signing))
	fmt.Fprintf(mac, "%d:%s", now.Unix(), body)
	h.hook(body, paddle.Header, fmt.Sprintf("ts=%d;h1=%s", now.Unix(), hex.EncodeToString(mac.Sum(nil))))
}

// TestPaddle records a transaction of a visitor with a click, and applies its adjustments, which
// arrived first. Paddle's events do not contain the mode, so the connection's mode is used.
func TestPaddle(t *testing.T) {
	t.Parallel()
	for _, live := range []bool{true, false} {
		h := newInboxed(t, func(in *connection.Input) {
			in.Processor, in.Secret, in.Live = connection.Paddle, "pdl_ntfset_1", live
		})
		adjustment := func(id, action, total string) M {
			return M{"id": id, "action": action, "status": "approved", "transaction_id": "txn_1", "currency_code": "USD",
				"totals": M{"subtotal": total, "tax": "0", "total": total}}
		}
		h.notify("evt_1", "adjustment.updated", adjustment("adj_1", "refund", "400"))
		h.Last("waiting", "unknown_sale")
		h.notify("evt_2", "transaction.completed", M{
			"id": "txn_1", "customer_id": "ctm_1", "subscription_id": "sub_1", "currency_code": "USD",
			"custom_data": M{"rail_click": h.Click(h.ProgramID, "ann").String("id")},
			"details":     M{"totals": M{"tax": "400", "total": "2400", "grand_total": "2400", "fee": "100"}},
		})
		e := h.Last("recorded", nil)
		require.Equal(t, live, e.Body["livemode"])
		require.Equal(t, "recorded", h.Work()[0].String("status"), "the refund has found its sale")
		h.notify("evt_3", "adjustment.created", adjustment("adj_2", "chargeback_warning", "1500"))
		h.Last("recorded", nil)
		h.notify("evt_4", "adjustment.created", adjustment("adj_3", "chargeback", "1500"))
		h.Last("recorded", nil)
		sale := h.Get("/v1/sales/" + e.String("sale_id"))
		require.Equal(t, []int64{500, 1900, 100}, []int64{
			sale.Int("amount_minor"), sale.Int("refunded_minor"), sale.Int("fee_minor"),
		})
		commission := apitest.Answer{Body: h.Get("/v1/commissions?program_id=" + h.ProgramID).Data()[0]}
		require.EqualValues(t, 100, commission.Int("amount_minor"))
		apitest.Balanced(t, h.Server)
	}
}

// TestPaddleTaxRefunded: a refund of the tax is followed by a full refund, whose total is the rest without tax.
// Nothing is left of the sale and of the partner's share.
func TestPaddleTaxRefunded(t *testing.T) {
	t.Parallel()
	h := newMoney(t, paddleMoney)
	h.notify("evt_1", "transaction.completed", M{
		"id": "txn_1", "customer_id": "ctm_1", "currency_code": "USD",
		"custom_data": M{"rail_click": h.Click(h.ProgramID, "ann").String("id")},
		"details":     M{"totals": M{"tax": "190", "total": "1190", "grand_total": "1190"}},
	})
	h.Last("recorded", nil)
	refund := func(id, kind, subtotal, tax, total string) {
		h.notify("evt_"+id, "adjustment.updated", M{
			"id": id, "action": "refund", "type": kind, "status": "approved", "transaction_id": "txn_1", "currency_code": "USD",
			"totals": M{"subtotal": subtotal, "tax": tax, "total": total},
		})
	}
	refund("adj_tax", "partial", "0", "190", "190")
	h.Last("ignored", "zero_amount")
	refund("adj_full", "full", "1000", "0", "1000")
	h.Last("recorded", nil)
	require.Equal(t, books{}, h.one())
	apitest.Balanced(t, h.Server)
}
