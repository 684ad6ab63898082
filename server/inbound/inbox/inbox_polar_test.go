package inbox_test

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/inbound/connection"
)

// TestPolar records an order of a visitor with a click, and applies its refunded total, which
// arrived first.
func TestPolar(t *testing.T) {
	t.Parallel()
	h := newInboxed(t, func(in *connection.Input) { in.Processor, in.Secret = connection.Polar, "polar_whs_1" })
	send := func(kind string, refunded, tax int64) {
		body, err := json.Marshal(M{"type": kind, "timestamp": h.Clock.Now(), "data": M{
			"id": "ord-1", "customer_id": "cu-1", "currency": "usd", "total_amount": 2400, "tax_amount": 400,
			"refunded_amount": refunded, "refunded_tax_amount": tax,
			"metadata": M{"rail_click": h.Click(h.ProgramID, "ann").String("id")},
		}})
		require.NoError(t, err)
		key := "whsec_" + base64.StdEncoding.EncodeToString([]byte("polar_whs_1"))
		h.Must(200, h.Connection.SendRaw(body, apitest.Unique("msg_"), h.Clock.Now().Time, key))
	}
	send("order.refunded", 500, 100)
	h.Last("waiting", "unknown_sale")
	send("order.paid", 0, 0)
	sale := h.Last("recorded", nil).String("sale_id")
	send("order.refunded", 1000, 200)
	h.Last("recorded", nil)
	send("order.refunded", 500, 100)
	h.Last("ignored", "already_recorded")
	s := h.Get("/v1/sales/" + sale)
	require.Equal(t, []any{int64(1200), int64(1200)}, []any{s.Int("amount_minor"), s.Int("refunded_minor")})
	apitest.Balanced(t, h.Server)
}
